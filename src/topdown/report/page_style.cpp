#include "topdown/report/page_style.h"

namespace tapml::topdown {

namespace {

// Most color-blind people can distinguish the colors of states and shades (blue to orange to red,
// and lightness); signs and strikes show the same.
constexpr const char* kColors = R"(:root{color-scheme:light dark;
--page:#fff;--ink:#1c2024;--soft:#5b6570;--line:#d5dae0;--panel:#f4f6f8;--link:#0b57b0;
--ok:#d3ebdb;--okink:#0e5128;--bad:#c2281d;--badink:#fff;--badsoft:#fbe6e3;--badtext:#9c1c12;
--hybrid:#f2b134;--hybridink:#3b2600;--fails:#5b1a5e;--failsink:#fff;
--h0:#e3e6ea;--h1:#f3f8fd;--h2:#c6dcf0;--h3:#86b4dc;--h4:#fdd49a;--h5:#fb8d3d;--h6:#d7401b;--h7:#7a0a12;
--band:#f1f4f7;--span:#a9c9e8;--strike:#1c2024;--farstrike:#fff}
)";
constexpr const char* kDarkColors = R"(@media screen and (prefers-color-scheme:dark){:root{
--page:#14171b;--ink:#e6e9ed;--soft:#9aa5b1;--line:#343b43;--panel:#1e2329;--link:#84b9ff;
--ok:#1d4a2e;--okink:#c9f0d6;--bad:#e5534b;--badink:#1a0503;--badsoft:#43201e;--badtext:#ffaaa2;
--hybrid:#d9972b;--hybridink:#1f1400;--fails:#c79bca;--failsink:#260a28;
--h0:#2a3037;--h1:#18222d;--h2:#1f4568;--h3:#3f7fb5;--h4:#c9922f;--h5:#ea7a2c;--h6:#ef5a35;--h7:#ff9d93;
--band:#1b2026;--span:#31597f;--strike:#0c0e10;--farstrike:#0c0e10}}
)";
constexpr const char* kRules = R"(*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;margin:0;
padding:1rem clamp(1rem,2vw,3rem) 4rem;color:var(--ink);background:var(--page)}
h1{font-size:1.35rem;line-height:1.3;margin:.6rem 0;overflow-wrap:anywhere}
h2{font-size:1.1rem;margin:2.4rem 0 .6rem;padding-top:.4rem;border-top:1px solid var(--line)}
h3{font-size:1rem;margin:1.6rem 0 .5rem;overflow-wrap:anywhere}
p{margin:.5rem 0;overflow-wrap:anywhere}
a{color:var(--link)}
code,pre{font:.86em/1.45 ui-monospace,"DejaVu Sans Mono",Menlo,Consolas,monospace}
pre{background:var(--panel);padding:.7rem .8rem;border-radius:.4rem;white-space:pre-wrap;
overflow-wrap:anywhere;margin:.5rem 0}
details pre{max-height:32rem;overflow:auto}
summary{cursor:pointer;color:var(--link);padding:.25rem 0}
nav{display:flex;flex-wrap:wrap;gap:.2rem 1rem;margin:.6rem 0;font-size:.9rem}
.verdict{display:flex;gap:.8rem;padding:.9rem 1rem;border-radius:.5rem;font-size:1.05rem;
font-weight:600;border-left:.4rem solid}
.verdict.ok{background:var(--ok);color:var(--okink);border-color:var(--okink)}
.verdict.bad{background:var(--badsoft);color:var(--badtext);border-color:var(--bad)}
.counts{color:var(--soft)}
p{max-width:90rem}
.run{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:.1rem .9rem;margin:.6rem 0;font-size:.88rem}
.run dt{color:var(--soft)}.run dd{margin:0;overflow-wrap:anywhere}
.scroll{overflow-x:auto;margin:.5rem 0;max-width:100%}
svg{display:block;width:100%;height:auto}
table{border-collapse:collapse;font-size:.84rem;min-width:100%}
td,th{border-bottom:1px solid var(--line);padding:.3rem .55rem;text-align:left;vertical-align:top}
thead th{color:var(--soft);font-weight:600;white-space:nowrap}
tbody th{font-weight:600;white-space:nowrap}
.sortable thead th{cursor:pointer}
.sortable th[aria-sort=ascending]::after{content:" ▲"}.sortable th[aria-sort=descending]::after{content:" ▼"}
.kernels td{white-space:nowrap;font-variant-numeric:tabular-nums}
.kernels .layers{white-space:normal;min-width:15rem;overflow-wrap:anywhere;color:var(--soft)}
.kernels tr.wrong td{background:var(--badsoft)}
.kernels tr:target td,.kernels tr:target th{outline:2px solid var(--link);outline-offset:-2px}
.facts td{overflow-wrap:anywhere}
.map td{padding:.2rem .55rem;white-space:normal;min-width:6rem}
.chip{display:inline-block;min-width:1.75rem;padding:0 .25rem;border-radius:.25rem;
font-size:.75rem;line-height:1.35rem;text-align:center;text-decoration:none;border:2px solid transparent;
font-variant-numeric:tabular-nums;margin:1px 0}
.chip.ok{background:var(--ok);color:var(--okink)}
.chip.mismatch{background:var(--bad);color:var(--badink);font-weight:700}
.chip.hybrid{background:var(--hybrid);color:var(--hybridink);font-weight:700}
.chip.fails{background:var(--fails);color:var(--failsink);font-weight:700}
.chip.untested{color:var(--soft);border:2px dashed var(--line)}
.chip.spared{background:none;color:var(--badtext);border-color:var(--bad)}
a.chip:hover,a.chip:focus{outline:2px solid var(--link)}
.legend{display:flex;flex-wrap:wrap;gap:.15rem 1rem;color:var(--soft);font-size:.84rem}
.legend>span{display:inline-flex;gap:.35rem;align-items:center}
.legend svg{width:14px;flex:none}
.axis,.grid,.limit,.outside{fill:none;stroke:var(--line);stroke-width:1}
.axis{stroke:var(--soft)}.limit{stroke:var(--badtext);stroke-width:1.5;stroke-dasharray:6 3}
.band{fill:var(--band)}.inside{fill:var(--link)}.outside{stroke:var(--badtext);stroke-width:2.5}
.tick,.label,.spanname{font-size:11px;fill:var(--soft)}.label{font-size:12px;fill:var(--ink)}
.span{fill:var(--span);stroke:var(--page);stroke-width:.5}.spanname{fill:var(--ink)}
.bar{fill:var(--span)}.bar.far{fill:var(--bad)}
.strike{fill:none;stroke:var(--strike);stroke-width:1;opacity:.6}.strike.far{stroke:var(--farstrike)}
.model td{white-space:nowrap}
.h0{fill:var(--h0)}.h1{fill:var(--h1)}.h2{fill:var(--h2)}.h3{fill:var(--h3)}.h4{fill:var(--h4)}
.h5{fill:var(--h5)}.h6{fill:var(--h6)}.h7{fill:var(--h7)}
@media (max-width:1500px){.kernels td,.kernels th{padding:.3rem .4rem}.kernels thead th{white-space:normal}
.kernels .layers{min-width:11rem}.kernels .loose{white-space:normal}}
@media (max-width:600px){body{padding:.6rem .7rem 3rem;font-size:14px}
.run{grid-template-columns:1fr;gap:0}.run dd{margin:0 0 .35rem}
.facts th{white-space:normal}
.map thead,.map td:empty{display:none}.map tr{display:block;border-bottom:1px solid var(--line);padding:.2rem 0}
.map th,.map td{display:block;border:0;padding:.1rem 0}
.map td::before{content:attr(data-of);color:var(--soft);font-size:.75rem;padding-right:.4rem}}
)";
constexpr const char* kPaper = R"(@media print{@page{size:A4 landscape;margin:12mm}
body{max-width:none;padding:0;font-size:10pt}nav{display:none}
*{-webkit-print-color-adjust:exact;print-color-adjust:exact}
.scroll{overflow:visible}svg{min-width:0!important}table{font-size:7.5pt}
.kernels td,.kernels th{white-space:normal;overflow-wrap:anywhere;padding:.15rem .3rem}
.kernels .layers{min-width:0}
tr,svg,.verdict{break-inside:avoid}h2,h3{break-after:avoid}
details:not([open]){display:none}a{color:inherit;text-decoration:none}}
)";

}  // namespace

std::string page_style() { return std::string(kColors) + kDarkColors + kRules + kPaper; }

}  // namespace tapml::topdown
