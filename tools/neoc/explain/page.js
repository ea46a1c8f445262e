const of = new Map(), lit = [];
for (const x of document.querySelectorAll('[data-g]'))
  for (const g of x.dataset.g.split(' '))
    of.has(g) ? of.get(g).push(x) : of.set(g, [x]);
document.addEventListener('mouseover', e => {
  for (const x of lit.splice(0)) x.classList.remove('hot');
  const at = e.target.closest('[data-g]');
  for (const g of at ? at.dataset.g.split(' ') : [])
    for (const x of of.get(g)) x.classList.add('hot'), lit.push(x);
});
function unfold() {
  const x = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!x) return;
  for (let d = x.closest('details'); d; d = d.parentElement.closest('details')) d.open = true;
  const inner = x.querySelector('details');
  if (inner) inner.open = true;
  x.scrollIntoView();
}
addEventListener('hashchange', unfold);
unfold();
