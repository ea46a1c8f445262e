" Models of tensor expressions (*.expr).
if exists("b:current_syntax")
  finish
endif

syn keyword neoStatement import dim assert input param state const next update scatter gather
syn keyword neoStatement collect push fn vertex graph output train optimizer
syn keyword neoRegion scan repeat while case else where
syn keyword neoWord as from down over except using every of limit
syn keyword neoOperator and or not
syn keyword neoBoolean true false
syn keyword neoConstant inf nan pi training step global_norm
syn keyword neoType f64 f32 f16 bf16 i64 i32 i8 u8 bool
syn keyword neoFunction abs sign floor ceil round sqrt rsqrt exp expm1 log log1p sin cos tan tanh
syn keyword neoFunction sigmoid relu gelu silu softplus elu erf stop min max clamp select rand wide
syn keyword neoFunction grad
syn keyword neoInitial uniform normal glorot he
syn match neoReducer "\<\(sum\|prod\|max\|min\|mean\|argmax\|argmin\|logsumexp\|any\|all\)\ze\["
syn match neoNumber "\<\d\+\(\.\d\+\)\=\([eE][+-]\=\d\+\)\=\>"
syn match neoSign "->\|\.\.\|==\|!=\|<=\|>=\|[-+*/%^<>=]"
syn keyword neoTodo TODO FIXME XXX contained
syn match neoComment "#.*$" contains=neoTodo,@Spell

hi def link neoStatement Statement
hi def link neoRegion Repeat
hi def link neoWord Keyword
hi def link neoOperator Operator
hi def link neoSign Operator
hi def link neoBoolean Boolean
hi def link neoConstant Constant
hi def link neoType Type
hi def link neoFunction Function
hi def link neoInitial Function
hi def link neoReducer Special
hi def link neoNumber Number
hi def link neoTodo Todo
hi def link neoComment Comment

setlocal commentstring=#\ %s
let b:current_syntax = "neo"
