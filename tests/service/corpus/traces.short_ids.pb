
[YW
(J'
gen_ai.operation.name
execute_tool