#include "topdown/report/sort_script.h"

namespace tapml::topdown {

namespace {

// A click on a column's head, or Enter, sorts by it; the next one reverses the order. Numbers are
// compared as numbers, by data-key where a cell shows them with a unit; empty cells come last.
constexpr const char* kScript = R"(document.querySelectorAll('table.sortable').forEach(table=>{
const heads=[...table.tHead.rows[0].cells],body=table.tBodies[0];
const key=cell=>{const text=cell.dataset.key??cell.textContent.trim();
const number=text===''?NaN:Number(text);return{text,number}};
const compare=(a,b)=>a.text===''||b.text===''?(a.text==='')-(b.text===''):
Number.isNaN(a.number)||Number.isNaN(b.number)?a.text.localeCompare(b.text):a.number-b.number;
heads.forEach((head,column)=>{head.tabIndex=0;head.title='sort by '+head.textContent;
const sort=()=>{const down=head.getAttribute('aria-sort')==='ascending';
heads.forEach(other=>other.removeAttribute('aria-sort'));
head.setAttribute('aria-sort',down?'descending':'ascending');
const rows=[...body.rows].map(row=>({row,key:key(row.cells[column])}));
rows.sort((a,b)=>a.key.text===''||b.key.text===''||!down?compare(a.key,b.key):compare(b.key,a.key));
rows.forEach(({row})=>body.append(row))};
head.addEventListener('click',sort);
head.addEventListener('keydown',event=>{if(event.key==='Enter')sort()})})});
)";

}  // namespace

std::string sort_script() { return kScript; }

}  // namespace tapml::topdown
