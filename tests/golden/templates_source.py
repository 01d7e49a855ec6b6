"""Chat templates and conversations for make_templates.py: written for the tests, each in the style of a family of
published templates, so that together they use the constructs that those use."""

TEMPLATES = {
    # Roles between markers, a default system prompt, image parts.
    "chatml": """\
{% for message in messages %}
  {%- if loop.first and message['role'] != 'system' %}
{{ '<|im_start|>system\\nYou help.<|im_end|>\\n' }}
  {%- endif %}
{{ '<|im_start|>' + message['role'] + '\\n' }}
  {%- if message['content'] is string %}
    {{- message['content'] | trim }}
  {%- else %}
    {%- for part in message['content'] %}
      {%- if part['type'] == 'text' %}{{ part['text'] }}{% elif part.type in ['image', 'image_url'] -%}
<|image|>
      {%- else %}{{ raise_exception('Unknown part ' ~ part.type) }}{% endif %}
    {%- endfor %}
  {%- endif %}
{{ '<|im_end|>\\n' }}
{% endfor %}
{% if add_generation_prompt %}
{{ '<|im_start|>assistant\\n' }}
{% endif %}
""",
    # The system prompt in the first turn, alternation checked.
    "llama2": """\
{% if messages[0]['role'] == 'system' %}{% set rest = messages[1:] %}{% set system = messages[0]['content'] %}\
{% else %}{% set rest = messages %}{% set system = false %}{% endif %}
{%- for message in rest %}
{%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}
{{ raise_exception('Roles have to alternate: user, assistant, user, assistant') }}
{%- endif %}
{%- if loop.index0 == 0 and system is not false %}
{%- set content = '<<SYS>>\\n' + system + '\\n<</SYS>>\\n\\n' + message['content'] %}
{%- else %}{% set content = message['content'] %}{% endif %}
{%- if message['role'] == 'user' %}{{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}
{%- elif message['role'] == 'assistant' %}{{ ' ' + content.strip() + ' ' + eos_token }}{% endif %}
{%- endfor %}
""",
    # Tools in the system or the user turn, tool calls, dates.
    "llama3": """\
{{- bos_token }}
{%- if custom_tools is defined %}{% set tools = custom_tools %}{% endif %}
{%- if not tools_in_user_message is defined %}{% set tools_in_user_message = true %}{% endif %}
{%- if not date_string is defined %}
    {%- if strftime_now is defined %}{% set date_string = strftime_now("%d %b %Y") %}
    {%- else %}{% set date_string = "26 Jul 2024" %}{% endif %}
{%- endif %}
{%- if not tools is defined %}{% set tools = none %}{% endif %}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}
{{- "<|start_header_id|>system<|end_header_id|>\\n\\n" }}
{%- if tools is not none %}{{ "Environment: ipython\\n" }}{% endif %}
{{- "Today Date: " + date_string + "\\n\\n" }}
{%- if tools is not none and not tools_in_user_message %}
    {%- for t in tools %}
        {{- t | tojson(indent=4) }}
        {{- "\\n\\n" }}
    {%- endfor %}
{%- endif %}
{{- system_message }}
{{- "<|eot_id|>" }}
{%- if tools_in_user_message and not tools is none %}
    {%- if messages | length != 0 %}
        {%- set first_user_message = messages[0]['content']|trim %}
        {%- set messages = messages[1:] %}
    {%- else %}
        {{- raise_exception("There is no first user message for the tools!") }}
    {%- endif %}
    {{- '<|start_header_id|>user<|end_header_id|>\\n\\n' -}}
    {%- for t in tools %}
        {{- t | tojson(indent=4) }}
        {{- "\\n\\n" }}
    {%- endfor %}
    {{- first_user_message + "<|eot_id|>" }}
{%- endif %}
{%- for message in messages %}
    {%- if not (message.role == 'ipython' or message.role == 'tool' or 'tool_calls' in message) %}
        {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'+ message['content'] | trim + '<|eot_id|>' }}
    {%- elif 'tool_calls' in message %}
        {%- if not message.tool_calls|length == 1 %}
            {{- raise_exception("Only single tool-calls at once!") }}
        {%- endif %}
        {%- set tool_call = message.tool_calls[0].function %}
        {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' -}}
        {{- '{"name": "' + tool_call.name + '", ' }}
        {{- '"parameters": ' }}
        {{- tool_call.arguments | tojson }}
        {{- "}" }}
        {{- "<|eot_id|>" }}
    {%- elif message.role == "tool" or message.role == "ipython" %}
        {{- "<|start_header_id|>ipython<|end_header_id|>\\n\\n" }}
        {%- if message.content is mapping or message.content is iterable %}
            {{- message.content | tojson }}
        {%- else %}
            {{- message.content }}
        {%- endif %}
        {{- "<|eot_id|>" }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif %}
""",
    # Other names of roles; the system prompt joins the first turn.
    "gemma": """\
{{ bos_token }}
{%- if messages[0]['role'] == 'system' -%}
    {%- if messages[0]['content'] is string -%}
        {%- set first_user_prefix = messages[0]['content'] + '\\n\\n' -%}
    {%- else -%}
        {%- set first_user_prefix = messages[0]['content'][0]['text'] + '\\n\\n' -%}
    {%- endif -%}
    {%- set loop_messages = messages[1:] -%}
{%- else -%}
    {%- set first_user_prefix = "" -%}
    {%- set loop_messages = messages -%}
{%- endif -%}
{%- for message in loop_messages -%}
    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) -%}
        {{ raise_exception("Conversation roles must alternate user/assistant/user/assistant/...") }}
    {%- endif -%}
    {%- if (message['role'] == 'assistant') -%}
        {%- set role = "model" -%}
    {%- else -%}
        {%- set role = message['role'] -%}
    {%- endif -%}
    {{ '<start_of_turn>' + role + '\\n' + (first_user_prefix if loop.first else "") }}
    {%- if message['content'] is string -%}
        {{ message['content'] | trim }}
    {%- elif message['content'] is iterable -%}
        {%- for item in message['content'] -%}
            {%- if item['type'] == 'image' -%}
                {{ '<start_of_image>' }}
            {%- elif item['type'] == 'text' -%}
                {{ item['text'] | trim }}
            {%- endif -%}
        {%- endfor -%}
    {%- else -%}
        {{ raise_exception("Invalid content type") }}
    {%- endif -%}
    {{ '<end_of_turn>\\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{'<start_of_turn>model\\n'}}
{%- endif -%}
""",
    # namespace, selectattr, loops with conditions, items() of tools.
    "mistral": """\
{%- if messages[0]["role"] == "system" %}
    {%- set system_message = messages[0]["content"] %}
    {%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set loop_messages = messages %}
{%- endif %}
{%- if not tools is defined %}{% set tools = none %}{% endif %}
{%- set user_messages = loop_messages | selectattr("role", "equalto", "user") | list %}
{%- set ns = namespace(index=0) %}
{%- for message in loop_messages %}
    {%- if not (message.role == "tool" or message.role == "tool_results" or (message.tool_calls is defined and message.tool_calls is not none)) %}
        {%- if (message["role"] == "user") != (ns.index % 2 == 0) %}
            {{- raise_exception("After the optional system message, conversation roles must alternate user/assistant") }}
        {%- endif %}
        {%- set ns.index = ns.index + 1 %}
    {%- endif %}
{%- endfor %}
{{- bos_token }}
{%- for message in loop_messages %}
    {%- if message["role"] == "user" %}
        {%- if tools is not none and (message == user_messages[-1]) %}
            {{- "[AVAILABLE_TOOLS] [" }}
            {%- for tool in tools %}
                {%- set tool = tool.function %}
                {{- '{"type": "function", "function": {' }}
                {%- for key, val in tool.items() if key != "return" %}
                    {%- if val is string %}
                        {{- '"' + key + '": "' + val + '"' }}
                    {%- else %}
                        {{- '"' + key + '": ' + val|tojson }}
                    {%- endif %}
                    {%- if not loop.last %}
                        {{- ", " }}
                    {%- endif %}
                {%- endfor %}
                {{- "}}" }}
                {%- if not loop.last %}
                    {{- ", " }}
                {%- else %}
                    {{- "]" }}
                {%- endif %}
            {%- endfor %}
            {{- "[/AVAILABLE_TOOLS]" }}
        {%- endif %}
        {%- if loop.last and system_message is defined %}
            {{- "[INST] " + system_message + "\\n\\n" + message["content"] + "[/INST]" }}
        {%- else %}
            {{- "[INST] " + message["content"] + "[/INST]" }}
        {%- endif %}
    {%- elif message.tool_calls is defined and message.tool_calls is not none %}
        {{- "[TOOL_CALLS] [" }}
        {%- for tool_call in message.tool_calls %}
            {%- set out = tool_call.function|tojson %}
            {{- out[:-1] }}
            {%- if not tool_call.id is defined or tool_call.id|length != 9 %}
                {{- raise_exception("Tool call IDs should be alphanumeric strings with length 9!") }}
            {%- endif %}
            {{- ', "id": "' + tool_call.id + '"}' }}
            {%- if not loop.last %}
                {{- ", " }}
            {%- else %}
                {{- "]" + eos_token }}
            {%- endif %}
        {%- endfor %}
    {%- elif message["role"] == "assistant" %}
        {{- " " + message["content"]|trim + eos_token}}
    {%- elif message["role"] == "tool_results" or message["role"] == "tool" %}
        {%- if message.content is defined and message.content.content is defined %}
            {%- set content = message.content.content %}
        {%- else %}
            {%- set content = message.content %}
        {%- endif %}
        {{- '[TOOL_RESULTS] {"content": ' + content|string + ", " }}
        {{- '"call_id": "' + message.tool_call_id + '"}[/TOOL_RESULTS]' }}
    {%- else %}
        {{- raise_exception("Only user and assistant roles are supported, with the exception of an initial optional system message!") }}
    {%- endif %}
{%- endfor %}
""",
    # State over turns in a namespace; thinking is cut from earlier answers.
    "deepseek": """\
{% if not add_generation_prompt is defined %}{% set add_generation_prompt = false %}{% endif %}
{% set ns = namespace(is_first=false, is_tool=false, is_output_first=true, system_prompt='', is_first_sp=true) %}
{%- for message in messages %}{%- if message['role'] == 'system' %}
{%- if ns.is_first_sp %}{% set ns.system_prompt = ns.system_prompt + message['content'] %}{% set ns.is_first_sp = false %}
{%- else %}{% set ns.system_prompt = ns.system_prompt + '\\n\\n' + message['content'] %}{%- endif %}
{%- endif %}{%- endfor %}
{{- bos_token }}{{ ns.system_prompt }}
{%- for message in messages %}
{%- if message['role'] == 'user' %}{%- set ns.is_tool = false -%}{{'<|User|>' + message['content']}}{%- endif %}
{%- if message['role'] == 'assistant' and 'tool_calls' in message %}
  {%- set ns.is_tool = false -%}
  {%- for tool in message['tool_calls'] %}
    {%- if not ns.is_first %}
      {%- if 'content' not in message or message['content'] is none %}{{'<|Assistant|><|tool_calls_begin|>'}}
      {%- else %}{{'<|Assistant|>' + message['content'] + '<|tool_calls_begin|>'}}{%- endif %}
      {%- set ns.is_first = true -%}
    {%- else %}{{'\\n'}}{%- endif %}
    {{- '<|call|>' + tool['type'] + '<|sep|>' + tool['function']['name'] + '\\n```json\\n' + (tool['function']['arguments'] | tojson) + '\\n```' }}
  {%- endfor %}{{'<|tool_calls_end|>' + eos_token}}
{%- endif %}
{%- if message['role'] == 'assistant' and 'tool_calls' not in message %}
  {%- if ns.is_tool %}{{'<|tool_outputs_end|>' + message['content'] + eos_token}}{%- set ns.is_tool = false -%}
  {%- else %}{% set content = message['content'] %}
    {%- if '</think>' in content %}{% set content = content.split('</think>')[-1] %}{% endif %}
    {{- '<|Assistant|>' + content + eos_token }}
  {%- endif %}
{%- endif %}
{%- if message['role'] == 'tool' %}{%- set ns.is_tool = true -%}
  {%- if ns.is_output_first %}{{'<|tool_outputs_begin|><|output|>' + message['content'] | string}}{%- set ns.is_output_first = false %}
  {%- else %}{{'<|output|>' + message['content'] | string}}{%- endif %}
{%- endif %}
{%- endfor -%}
{% if ns.is_tool %}{{'<|tool_outputs_end|>'}}{% endif %}
{%- if add_generation_prompt and not ns.is_tool %}{{'<|Assistant|><think>\\n'}}{% endif %}
""",
    # Reversed loops, string methods, thinking that can be switched off.
    "qwen3": """\
{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- if messages[0].role == 'system' %}
        {{- messages[0].content + '\\n\\n' }}
    {%- endif %}
    {{- "# Tools\\n\\nFunctions are within <tools></tools>:\\n<tools>" }}
    {%- for tool in tools %}
        {{- "\\n" }}
        {{- tool | tojson }}
    {%- endfor %}
    {{- "\\n</tools><|im_end|>\\n" }}
{%- else %}
    {%- if messages[0].role == 'system' %}
        {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
    {%- endif %}
{%- endif %}
{%- set ns = namespace(multi_step_tool=true, last_query_index=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.multi_step_tool and message.role == "user" and message.content is string and not(message.content.startswith('<tool_response>') and message.content.endswith('</tool_response>')) %}
        {%- set ns.multi_step_tool = false %}
        {%- set ns.last_query_index = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if message.content is string %}
        {%- set content = message.content %}
    {%- else %}
        {%- set content = '' %}
    {%- endif %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) %}
        {{- '<|im_start|>' + message.role + '\\n' + content + '<|im_end|>' + '\\n' }}
    {%- elif message.role == "assistant" %}
        {%- set reasoning_content = '' %}
        {%- if message.reasoning_content is string %}
            {%- set reasoning_content = message.reasoning_content %}
        {%- else %}
            {%- if '</think>' in content %}
                {%- set reasoning_content = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
                {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
            {%- endif %}
        {%- endif %}
        {%- if loop.index0 > ns.last_query_index and (loop.last or (not loop.last and reasoning_content)) %}
            {{- '<|im_start|>' + message.role + '\\n<think>\\n' + reasoning_content.strip('\\n') + '\\n</think>\\n\\n' + content.lstrip('\\n') }}
        {%- else %}
            {{- '<|im_start|>' + message.role + '\\n' + content }}
        {%- endif %}
        {%- if message.tool_calls %}
            {%- for tool_call in message.tool_calls %}
                {%- if (loop.first and content) or (not loop.first) %}
                    {{- '\\n' }}
                {%- endif %}
                {%- if tool_call.function %}
                    {%- set tool_call = tool_call.function %}
                {%- endif %}
                {{- '<tool_call>\\n{"name": "' }}
                {{- tool_call.name }}
                {{- '", "arguments": ' }}
                {%- if tool_call.arguments is string %}
                    {{- tool_call.arguments }}
                {%- else %}
                    {{- tool_call.arguments | tojson }}
                {%- endif %}
                {{- '}\\n</tool_call>' }}
            {%- endfor %}
        {%- endif %}
        {{- '<|im_end|>\\n' }}
    {%- elif message.role == "tool" %}
        {%- if loop.first or (messages[loop.index0 - 1].role != "tool") %}
            {{- '<|im_start|>user' }}
        {%- endif %}
        {{- '\\n<tool_response>\\n' }}
        {{- content }}
        {{- '\\n</tool_response>' }}
        {%- if loop.last or (messages[loop.index0 + 1].role != "tool") %}
            {{- '<|im_end|>\\n' }}
        {%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}
""",
    # Macros that call each other and themselves, to write tools as type declarations.
    "gptoss": """\
{%- macro render_type(spec, required_params, is_nullable=false) -%}
    {%- if spec.type == "array" -%}
        {%- if spec['items'] -%}
            {%- if spec['items']['type'] == "string" -%}string[]
            {%- elif spec['items']['type'] in ("number", "integer") -%}number[]
            {%- else -%}
                {%- set inner = render_type(spec['items'], required_params) -%}
                {%- if inner == "object | object" or inner|length > 50 -%}any[]
                {%- else -%}{{ inner + "[]" }}{%- endif -%}
            {%- endif -%}
        {%- else -%}any[]
        {%- endif -%}
        {%- if spec.nullable %} | null{% endif -%}
    {%- elif spec.type is defined and spec.type is iterable and spec.type is not string and spec.type is not mapping and spec.type[0] is defined -%}
        {%- if spec.type | length > 1 -%}{{ spec.type | join(" | ") }}
        {%- else -%}{{ spec.type[0] }}{%- endif -%}
    {%- elif spec.oneOf -%}
        {%- for variant in spec.oneOf -%}
            {{ render_type(variant, required_params) -}}
            {%- if variant.description %}{{ "// " + variant.description }}{% endif -%}
            {%- if not loop.last %}{{ " | " }}{% endif -%}
        {%- endfor -%}
    {%- elif spec.type == "string" -%}
        {%- if spec.enum -%}{{ '"' + spec.enum|join('" | "') + '"' }}
        {%- else -%}string{%- if spec.nullable %} | null{% endif -%}{%- endif -%}
    {%- elif spec.type in ["number", "integer"] -%}number
    {%- elif spec.type == "boolean" -%}boolean
    {%- elif spec.type == "object" -%}
        {%- if spec.properties -%}
            {{- "{\\n" -}}
            {%- for name, prop in spec.properties.items() -%}
                {{- name -}}
                {%- if name not in (spec.required or []) -%}{{ "?" }}{%- endif -%}
                {{- ": " -}}
                {{ render_type(prop, spec.required or []) }}
                {%- if not loop.last -%}{{ ", " }}{%- endif -%}
            {%- endfor -%}
            {{- "}" -}}
        {%- else -%}object{%- endif -%}
    {%- else -%}any
    {%- endif -%}
{%- endmacro -%}
{%- macro render_tools(namespace_name, tools) -%}
    {{- "## " + namespace_name + "\\n\\nnamespace " + namespace_name + " {\\n\\n" }}
    {%- for tool in tools %}
        {%- set tool = tool.function %}
        {{- "// " + tool.description + "\\ntype " + tool.name + " = " }}
        {%- if tool.parameters and tool.parameters.properties %}
            {{- "(_: {\\n" }}
            {%- for param_name, param_spec in tool.parameters.properties.items() %}
                {%- if param_spec.description %}{{ "// " + param_spec.description + "\\n" }}{% endif %}
                {{- param_name }}
                {%- if param_name not in (tool.parameters.required or []) %}{{ "?" }}{% endif %}
                {{- ": " + render_type(param_spec, tool.parameters.required or []) }}
                {%- if param_spec.default is defined %}
                    {%- if param_spec.enum %}{{ ", // default: " + param_spec.default }}
                    {%- elif param_spec.oneOf %}{{ "// default: " + param_spec.default }}
                    {%- else %}{{ ", // default: " + param_spec.default|tojson }}{%- endif -%}
                {%- endif %}
                {%- if not loop.last %}{{ ",\\n" }}{% else %}{{ "\\n" }}{%- endif -%}
            {%- endfor %}
            {{- "}) => any;\\n\\n" }}
        {%- else %}{{ "() => any;\\n\\n" }}
        {%- endif -%}
    {%- endfor %}
    {{- "} // namespace " + namespace_name }}
{%- endmacro -%}
{{- "<|start|>system<|message|>" }}
{{- model_identity if model_identity is defined else "You are a model." }}
{{- "\\nReasoning: " + (reasoning_effort | default("medium")) + "\\n# Valid channels: analysis, commentary, final." }}
{{- "<|end|>" }}
{%- if messages[0].role in ["developer", "system"] %}
    {%- set developer_message = messages[0].content %}
    {%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set developer_message = "" %}
    {%- set loop_messages = messages %}
{%- endif %}
{%- if developer_message or tools %}
    {{- "<|start|>developer<|message|>" }}
    {%- if developer_message %}{{ "# Instructions\\n\\n" ~ developer_message ~ "\\n\\n" }}{% endif %}
    {%- if tools -%}{{ "# Tools\\n\\n" }}{{- render_tools("functions", tools) }}{%- endif -%}
    {{- "<|end|>" }}
{%- endif %}
{%- set last_tool_call = namespace(name=none) %}
{%- for message in loop_messages -%}
    {%- if message.role == 'assistant' -%}
        {%- if "tool_calls" in message %}
            {%- set tool_call = message.tool_calls[0] %}
            {%- if tool_call.function %}{% set tool_call = tool_call.function %}{% endif %}
            {%- if message.content and message.thinking %}
                {{- raise_exception("Cannot pass both content and thinking with a tool call!") }}
            {%- elif message.content %}{{ "<|start|>assistant<|channel|>analysis<|message|>" + message.content + "<|end|>" }}
            {%- elif message.thinking %}{{ "<|start|>assistant<|channel|>analysis<|message|>" + message.thinking + "<|end|>" }}
            {%- endif %}
            {{- "<|start|>assistant to=functions." ~ tool_call.name ~ "<|channel|>commentary " }}
            {{- (tool_call.content_type if tool_call.content_type is defined else "json") + "<|message|>" }}
            {{- tool_call.arguments|tojson }}
            {{- "<|call|>" }}
            {%- set last_tool_call.name = tool_call.name %}
        {%- elif loop.last and not add_generation_prompt %}
            {%- if "thinking" in message %}{{ "<|start|>assistant<|channel|>analysis<|message|>" + message.thinking + "<|end|>" }}{% endif %}
            {{- "<|start|>assistant<|channel|>final<|message|>" + message.content + "<|return|>" }}
        {%- else %}
            {{- "<|start|>assistant<|channel|>final<|message|>" + message.content + "<|end|>" }}
            {%- set last_tool_call.name = none %}
        {%- endif %}
    {%- elif message.role == 'tool' -%}
        {%- if last_tool_call.name is none %}{{ raise_exception("Message has tool role, but there was no previous assistant message with a tool call!") }}{% endif %}
        {{- "<|start|>functions." + last_tool_call.name }}
        {{- " to=assistant<|channel|>commentary<|message|>" + message.content|tojson + "<|end|>" }}
    {%- elif message.role == 'user' -%}
        {{- "<|start|>user<|message|>" + message.content + "<|end|>" }}
    {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
<|start|>assistant
{%- endif -%}
""",
    # Tools as Python signatures: macros, call blocks, set blocks, title and replace, documents.
    "command_r": """\
{{ bos_token }}
{%- macro json_to_python_type(param) -%}
{%- set basic = {'string': 'str', 'number': 'float', 'integer': 'int', 'boolean': 'bool', 'object': 'Dict'} -%}
{%- if param.type in basic -%}{{ basic[param.type] }}
{%- elif param.type == 'array' -%}List[{{ json_to_python_type(param['items']) }}]
{%- else -%}Any{%- endif -%}
{%- endmacro -%}
{%- macro section(title, level=2) -%}
{{ '#' * level }} {{ title | title }}
{{ caller() }}
{% endmacro -%}
<|SYSTEM|>
{%- set loop_messages = messages %}
{%- if messages[0]['role'] == 'system' %}
{%- set loop_messages = messages[1:] %}
{%- set system_message = messages[0]['content'] %}
{%- else %}{% set system_message = 'You are a large language model.' %}{% endif %}
{% call section('user preamble') %}{{ system_message }}{% endcall %}
{%- if tools %}
{% call section('available tools', level=3) -%}
{%- for tool in tools %}{% set f = tool.function %}
def {{ f.name }}({% for name, param in f.parameters.properties.items() %}{{ name }}: {% if name not in f.parameters.required %}\
Optional[{{ json_to_python_type(param) }}] = None{% else %}{{ json_to_python_type(param) }}{% endif %}{{ ', ' if not loop.last }}{% endfor %}):
    \"\"\"{{ f.description | default('', true) }}
{%- for name, param in f.parameters.properties | dictsort %}
{% if loop.first %}

    Args:
{% endif %}
        {{ name }} ({{ json_to_python_type(param) }}): {{ param.description | replace('\\n', ' ') | truncate(40) }}
{%- endfor %}
    \"\"\"
    pass
{% endfor %}
{%- endcall %}
{%- endif %}
{%- set tail %}
{%- for document in documents or [] %}
Document: {{ loop.index0 }}
{% for key, value in document|items %}
{{ key | upper | center(12) }}: {{ value }}
{% endfor %}
{% endfor %}
{%- endset %}
{{ tail }}
{%- for message in loop_messages %}
{%- set content = message['content'] %}
{%- if message['role'] == 'user' %}
{{ '<|USER|>' + content.strip() + '<|END|>' }}
{%- elif message['role'] == 'assistant' %}
{{ '<|CHATBOT|>' ~ (content | default('', true)).strip() ~ '<|END|>' }}
{%- endif %}
{%- endfor %}
{% if add_generation_prompt %}{{ '<|CHATBOT|>' }}{% endif %}
""",
    # generation blocks, break and continue, with, filter blocks, a recursive loop, raw text.
    "extras": """\
{# The comment is not printed. #}
{% raw %}{{ not evaluated }}{% endraw %}
{% macro leaf(x, *, y) %}{% endmacro %}
""".replace("{% macro leaf(x, *, y) %}{% endmacro %}\n", "") + """\
{% with title = 'turns', n = messages | length %}
{{ title }}: {{ n }}
{% endwith %}
{% for message in messages %}
{% if message.role == 'system' %}{% continue %}{% endif %}
{% if loop.index > 4 %}{% break %}{% endif %}
{% if message.role == 'assistant' %}
A:{% generation %} {{ message.content or message.tool_calls | map(attribute='function.name') | join('+') }}{% endgeneration %}

{% else %}
{{ message.role[0] | upper }}: {% filter trim | replace('a', 'A') %} {{ message.content }} {% endfilter %}

{% endif %}
{% else %}
no turn has an end
{% endfor %}
{% for item in [{'n': 1, 'c': [{'n': 2}, {'n': 3, 'c': [{'n': 4}]}]}, {'n': 5}] recursive %}
{{ '-' * loop.depth }} {{ item.n }}{{ ' (last)' if loop.last }}
{{ loop(item.c) if item.c }}
{%- endfor %}
{{ loop is defined }} {{ messages | map(attribute='role') | unique | join(',') }}
""",
}

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Get the weather of a <city> & its \"suburbs\".",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "The city,\nfor example Zürich or 東京"},
                "unit": {"type": "string", "enum": ["celsius", "fahrenheit"], "description": "The unit", "default": "celsius"},
                "days": {"type": "array", "items": {"type": "integer"}, "description": "Days"},
                "exact": {"type": "number", "description": "Within this many degrees, which is not a small number", "default": 0.5},
            },
            "required": ["city"],
        },
        "return": {"type": "string"},
    },
}
SEARCH = {
    "type": "function",
    "function": {
        "name": "search",
        "description": "Search.",
        "parameters": {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "What to find"},
                "filter": {
                    "type": "object",
                    "description": "A filter",
                    "properties": {"site": {"type": "string", "nullable": True}, "safe": {"type": "boolean"}},
                    "required": ["site"],
                },
            },
            "required": ["query", "filter"],
        },
    },
}


def call(name, arguments, identity="abcdefghi"):
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}


CONVERSATIONS = {
    "one": {"messages": [{"role": "user", "content": " Hello, how are you? "}]},
    "system": {
        "messages": [{"role": "system", "content": "Be brief.\n"}, {"role": "user", "content": "Why is the sky blue?"}]
    },
    "turns": {
        "messages": [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "Hello! “What” can I do? 🙂\n"},
            {"role": "user", "content": "  Count: 1, 2\t3 <b>&</b> 'quoted' \"twice\" \\ back "},
            {"role": "assistant", "content": "4, 5"},
            {"role": "user", "content": "Große Straße, naïve café, 日本語"},
        ]
    },
    "ends_with_answer": {
        "messages": [{"role": "user", "content": "Say yes"}, {"role": "assistant", "content": "yes\n"}],
        "add_generation_prompt": False,
    },
    "thinking": {
        "messages": [
            {"role": "user", "content": "2+2?"},
            {"role": "assistant", "content": "<think>\nIt is 4.\n</think>\n\n4"},
            {"role": "user", "content": "3+3?"},
            {"role": "assistant", "content": "6", "reasoning_content": "Three and three"},
            {"role": "user", "content": "And 1.5e3?"},
        ]
    },
    "no_thinking": {
        "messages": [{"role": "user", "content": "Quick"}],
        "variables": {"enable_thinking": False, "reasoning_effort": "low", "date_string": "1 Jan 2025"},
    },
    "tools": {
        "messages": [{"role": "system", "content": "Use tools."}, {"role": "user", "content": "Weather in Zürich?"}],
        "tools": [WEATHER, SEARCH],
    },
    "tool_call": {
        "messages": [
            {"role": "user", "content": "Weather in Zürich?"},
            {
                "role": "assistant",
                "tool_calls": [call("get_weather", {"city": "Zürich", "days": [1, 2], "exact": 1.0, "deep": {"a": None, "b": True}})],
            },
            {"role": "tool", "tool_call_id": "abcdefghi", "name": "get_weather", "content": "{\"degrees\": 21.5}"},
            {"role": "assistant", "content": "It is 21.5 degrees."},
            {"role": "user", "content": "Thanks"},
        ],
        "tools": [WEATHER],
    },
    "two_tool_calls": {
        "messages": [
            {"role": "user", "content": "Search twice"},
            {
                "role": "assistant",
                "content": "I search.",
                "tool_calls": [
                    call("search", {"query": "a", "filter": {"site": "x"}}, "123456789"),
                    call("search", {"query": "b"}, "short"),
                ],
            },
            {"role": "tool", "tool_call_id": "123456789", "content": "first"},
            {"role": "tool", "tool_call_id": "short", "content": "second"},
        ],
        "tools": [SEARCH],
    },
    "images": {
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "image"},
                    {"type": "text", "text": "What is in this picture?"},
                    {"type": "image_url", "image_url": {"url": "https://example.com/x.png"}},
                ],
            }
        ]
    },
    "audio_part": {"messages": [{"role": "user", "content": [{"type": "audio"}, {"type": "text", "text": "Listen"}]}]},
    "wrong_order": {
        "messages": [{"role": "assistant", "content": "I begin"}, {"role": "assistant", "content": "and go on"}]
    },
    "documents": {
        "messages": [{"role": "user", "content": "Read"}],
        "documents": [{"title": "One", "text": "First text"}, {"title": "Two", "text": "Second\ntext"}],
    },
}
