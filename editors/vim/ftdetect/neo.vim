au BufRead,BufNewFile *.expr setfiletype neo
