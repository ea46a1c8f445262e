"""Mends of wrong numbers, taken back one at a time: each entry gives the compiler one mistake again that it had.

An entry names the class of programs that are wrong then, and has the places that change together (given.py). All are
in one build, as those of tools/mutants."""
from build import Tree
from given import Place, place_all


class TakeBack:
    """name: the class of wrong numbers; drawn: whether programs that are drawn have to find it, or a call of the
    library does, which none of them makes."""

    def __init__(self, name, *places, drawn=True):
        self.name, self.drawn = name, drawn
        self.places = [Place(*p) for p in places]

    @property
    def id(self):
        return self.places[0].id


T = TakeBack
STASH, REUSE, FRAMES, CONSTS = ("codegen/lower/common/row_stash.c", "transform/value_reuse.c", "frontend/sema/frames.c",
                                "frontend/sema/consts.c")
FACTOR, NEEDS, DIVIDE = "transform/factor.c", "fusion/search/needs.c", "fusion/recurrence/recurrence.c"
TAKEBACKS = [
    T("rows of different length share values",
      (STASH, "first < stage && «l->reads_stash[stage]»;", "true")),
    T("values are read after the end of their tensor",
      (REUSE, "static bool is_there(known *c, uint32_t k, uint32_t at) {«»", "return true;")),
    T("an expression becomes a read of itself",
      (REUSE, "«!holds_at(c, at, &c->places.at[outer])»", "outer == UINT32_MAX && !holds_at(c, at, &c->places.at[outer])")),
    T("ranges below zero by a number",
      (FRAMES, "return «lo < 0» ? from : zero;", "false")),
    T("ranges below zero by a size or an index",
      (FRAMES, "if («is_natural(f, &facts, neo_axis_ref(f->m, p))»)", "true")),
    T("conditions inside of a reducer bound the ranges around it",
      (FRAMES, "f->assume.n = «s.n_assume»;", "f->assume.n")),
    T("results of loops are the tensors of their carries",
      ("frontend/sema/gradients.c", "return «fe->asks_gradients» && v->kind == NEO_VAL_VIEW", "false")),
    T("bounds of named integers are believed",
      (FRAMES, "if («bound.i && fits_type(f, bound, t) &&\n"
               "      neo_bounds_holds(f, neo_op2(f->m, NEO_OP_LT, neo_cast(f->m, NEO_I64_T, e), bound))»)",
       "bound.i && neo_size_is_pure(f->m, bound)")),
    T("positions below zero have a bound",
      ("frontend/sema/reduce.c", "if («at_least(f, zero, r->body[1])»)\n    return (neo_ends){.bound = end};", "true")),
    T("tensors of one constant have no gradient",
      ("transform/simplify.c", "if («!m->grads.at[k].done»)", "false")),
    T("index arithmetic that wraps is looked into",
      ("transform/wrapping.c", "return «neo_op1(m, NEO_OP_STOP, e)»;", "e"),
      ("ir/prove/tighten.c", "if («whole || (r.lo > INT64_MIN && r.hi < INT64_MAX)»)", "whole || r.lo <= r.hi")),
    T("circular buffers are read again where their producer has overwritten them",
      ("fusion/recurrence/segments.c",
       "else if («from >= 0 && outline_overwrites(l->s->o, l->s->open.at[from], l->s->open.at[from])»)", "false")),
    T("recurrences share loops that have no order",
      (NEEDS, "if («!neo_recurrence_shares(q->m, q->a, all, n)»)", "n == 0"),
      (DIVIDE, "x.ordered = «x.ordered && !number[defs[k].i]»;", "true")),
    T("orders of recurrences are given up after the first axes",
      ("ir/order.c", "s.retries = «MOST_RETRIES»;", "0")),
    T("orders of recurrences are given up where proofs may cost little",
      ("ir/prove/store.c", "return «p->insists && quota < NEO_PROOF_QUOTA» ?", "false")),
    T("what is collected has the first iteration's bound",
      ("frontend/sema/iterations.c", "    «raise_bound(fe->m, t, v.view.tensor, l);»",
       "if (l == 0) raise_bound(fe->m, t, v.view.tensor, l);")),
    T("constant lists have the bound that is said",
      (CONSTS, "if («given && (least < 0 || !data_end_holds(r, *bound, true))»)", "given && least < 0")),
    T("first values have the bound that is said",
      ("frontend/sema/declare.c", "if («!neo_bounds_of_value(f, var, at, e, &ends)»)",
       "false")),
    T("running sums begin at 0",
      ("transform/running_sums.c", "s->first = «lo < 0 ? lo : 0»;", "0")),
    T("ordered reductions get another order",
      ("transform/channels_last.c", "x.inner &= «neo_def_is_ordered(&r) ? 0 : free_axes(m, &r)»;", "free_axes(m, &r)")),
    T("skewed definitions read outside",
      ("transform/skew.c", "    if (s.moved[k])\n      «neo_embed_def(s.p, (neo_def){k});»", None)),
    T("partial chunks read outside",
      ("transform/checkpoint/write.c", "«neo_embed_def(c->p, neo_def_add(m, r, true));»", "(void)neo_def_add(m, r, true);")),
    T("batches of levels read outside",
      ("transform/levels/levels.c", "    «embed_all(&s);»", None)),
    T("rows whose sums differ in length are sparse rows",
      ("transform/sparse_rows.c", "!d->where.i || «is_ragged(m, d)» ||", "false")),
    T("a part is multiplied where the condition leaves nothing",
      (FACTOR, "|| «!takes_some(p, x->in)»)", "false")),
    T("a part that is known takes the condition along",
      (FACTOR, "if («x->known.i && !split_condition(p, x->in, &asked, &r.where)»)",
       "x->known.i && (r.where = (neo_expr){0}, false)")),
    T("factors go out of sums that overflow then",
      (FACTOR, "(«!p->r.as_written» || is_constant(p, by))", "true"),
      (FACTOR, "if («p->r.as_written && !constants»)", "false"),
      (FACTOR, "(«!p->r.as_written» || is_scale(p, p->factor[k]))", "true"),
      (FACTOR, "«p->r.as_written» ? without(p, p->term, out)", "false")),
    T("states in somebody's memory are not looked at",
      ("runtime/core/bind.c", "  c->viewed[tensor] = true;\n  «expose(c, tensor, true);»", None), drawn=False),
    T("inputs lie in memory that is written",
      ("runtime/core/sharing.c", "i < e->n_inputs ? «check_input(c, e, i)»", "NEO_OK"), drawn=False),
    T("circular buffers are read after they are overwritten",
      ("fusion/recurrence/fold.c", "is = «overwrites(o, x, p, neo_list_at(o->m, x->rec.out, k))»;", "false")),
]

TARGETS = ["neoc", "test_pairs_random"]


class Build:
    """A build of the compiler with all takebacks."""

    def __init__(self, source, work, options, jobs):
        self.tree = Tree(source, work, options, jobs)
        self.places = place_all(self.tree, TAKEBACKS, "takebacks")

    def make(self):
        self.tree.sync(self.places)
        self.tree.configure()
        self.tree.make(TARGETS)
