'use strict';
(() => {
  const rows = [...document.querySelectorAll('.timeline tbody tr')];
  const $ = id => document.getElementById(id);
  let at = -1;

  const element = (tag, props, ...children) => {
    const e = Object.assign(document.createElement(tag), props || {});
    e.append(...children.filter(c => c !== null && c !== undefined));
    return e;
  };

  const table = (columns, data, look) => {
    const t = element('table', null,
      element('thead', null, element('tr', null, ...columns.map(c => element('th', { scope: 'col', textContent: c })))),
      element('tbody', null, ...data.map((r, i) => element('tr', { className: look ? look(i) : '' }, ...r.map(v => element('td', null, element('code', { textContent: v })))))));
    return element('div', { className: 'scroll' }, t);
  };

  // The rows of a table as committed after a step: the last version that is not newer.
  const versionAt = (t, index) => {
    let found = null;
    for (const v of t.Versions) if (v.From <= index) found = v;
    return found;
  };

  const heldAt = i => {
    const held = page.Actors.map(() => []);
    for (let k = 0; k <= i; k++) if (page.Steps[k].Actor >= 0) held[page.Steps[k].Actor] = page.Steps[k].Held || [];
    return held;
  };

  function show(i) {
    const s = page.Steps[i];
    $('d-step').textContent = s.Index + ': ' + s.Name;
    const body = $('d-body');
    body.replaceChildren();
    if (s.SQL) body.append(element('pre', { textContent: s.SQL }));
    if (s.Args && s.Args.length) body.append(element('p', { textContent: 'with ' + s.Args.map((a, n) => '$' + (n + 1) + ' = ' + a).join(', ') }));
    if (s.Fields && s.Rows) body.append(table(s.Fields, s.Rows));
    else if (s.Result) body.append(element('p', { textContent: s.Result }));
    if (s.Tx) body.append(element('p', { textContent: page.Actors[s.Actor] + ' is in a ' + (s.Tx === 'in transaction' ? 'transaction' : s.Tx) + '.' }));
    if (s.Other) body.append(element('p', { className: 'other', textContent: page.Other + ': ' + s.Other }));
    for (const t of s.Told || []) body.append(element('div', { className: 'told', textContent: t }));

    const locks = $('d-locks');
    locks.replaceChildren();
    heldAt(i).forEach((held, a) => {
      if (held.length) locks.append(element('details', { open: held.length <= 8 },
        element('summary', null, element('strong', { textContent: page.Actors[a] }), ', ' + held.length + (held.length === 1 ? ' lock' : ' locks')),
        element('ul', null, ...held.map(l => element('li', null, element('code', { textContent: l }))))));
    });
    for (const span of page.Spans || []) {
      if (span.From <= s.Index && s.Index < span.To) {
        locks.append(element('p', { textContent: page.Actors[span.Actor] + ' waits for ' + (span.By || []).map(b => page.Actors[b]).join(', ') + (span.On ? ' (' + span.On + ')' : '') }));
      }
    }
    if (!locks.childNodes.length) locks.append(element('p', { textContent: 'none' }));

    const tables = $('d-tables');
    tables.replaceChildren();
    const all = (page.Tables || []).map(t => ({ t, v: versionAt(t, s.Index) })).filter(x => x.v);
    const isNew = x => x.v.From === s.Index;
    for (const { t, v } of [...all.filter(isNew), ...all.filter(x => !isNew(x))]) { // what the step changed comes first
      const changed = v.From === s.Index;
      const rows = v.Rows || [];
      const look = n => [changed && v.New[n] && 'new', v.Gone && v.Gone[n] && 'gone'].filter(Boolean).join(' ');
      tables.append(element('details', { open: changed || all.length <= 4 && rows.length <= 6 },
        element('summary', { textContent: t.Name + ', ' + rows.length + (v.By ? ' row version' : ' row') + (rows.length === 1 ? '' : 's') + (changed ? ', changed by this step' : '') }),
        v.By ? table([...t.Columns, 'written by', 'seen by'], rows.map((r, n) => [...r, v.By[n], v.Seen[n]]), look) : table(t.Columns, rows, look)));
    }
    if (!tables.childNodes.length) tables.append(element('p', { textContent: 'not recorded' }));
  }

  function pick(i, focus) {
    if (i < 0 || i >= rows.length) return;
    if (at >= 0) { rows[at].classList.remove('picked'); rows[at].tabIndex = -1; rows[at].removeAttribute('aria-current'); }
    at = i;
    rows[at].classList.add('picked');
    rows[at].tabIndex = 0;
    rows[at].setAttribute('aria-current', 'step');
    if (focus) { rows[at].focus({ preventScroll: true }); rows[at].scrollIntoView({ block: 'nearest' }); }
    history.replaceState(null, '', '#step-' + page.Steps[at].Index);
    show(at);
  }

  const fromAddress = () => {
    const m = /^#step-(\d+)$/.exec(location.hash);
    return m ? page.Steps.findIndex(s => s.Index === Number(m[1])) : -1;
  };
  const culprit = () => page.Steps.findIndex(s => s.Culprit);
  const nextWait = () => {
    for (let k = 1; k <= rows.length; k++) if (page.Steps[(at + k) % rows.length].Blocked) return (at + k) % rows.length;
    return -1;
  };

  rows.forEach((r, i) => r.addEventListener('click', () => pick(i, true)));
  addEventListener('hashchange', () => { const i = fromAddress(); if (i >= 0 && i !== at) pick(i, true); });
  addEventListener('keydown', e => {
    if (e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|TEXTAREA|SELECT|SUMMARY|IFRAME)$/.test(e.target.tagName)) return;
    const to = { ArrowDown: at + 1, j: at + 1, ArrowUp: at - 1, k: at - 1, Home: 0, End: rows.length - 1, '!': culprit(), w: nextWait() }[e.key];
    if (to === undefined) return;
    e.preventDefault();
    pick(to, true);
  });
  if (rows.length) pick(Math.max(fromAddress(), 0), fromAddress() >= 0);
})();
