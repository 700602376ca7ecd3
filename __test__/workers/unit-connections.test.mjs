// A worker's table of connections: state is kept only for those that have any.
import test from 'ava';
import { Run } from '../../js/dist/worker/connection.js';
import { Connections } from '../../js/dist/worker/connections.js';

test('connections without state share one object', (t) => {
  const table = new Connections();
  const first = table.open(0, 10);
  t.is(first.id, 10);
  table.settle();
  t.is(table.open(1, 11), first);
  table.settle();
  t.is(table.find(0), first);
  t.is(first.id, 10);
  t.is(table.find(1)?.id, 11);
  t.is(table.find(2), undefined);
});

/** What a handler may leave behind, and how to see it. */
const STATES = {
  token: { set: (c) => (c.token = null), has: (c) => c.token === null },
  tokenSeen: { set: (c) => (c.tokenSeen = 1), has: (c) => c.tokenSeen === 1 },
  failed: { set: (c) => (c.failed = true), has: (c) => c.failed },
  accepted: { set: (c) => (c.accepted = false), has: (c) => !c.accepted },
  beside: { set: (c) => (c.beside = 1), has: (c) => c.beside === 1 },
  run: { set: (c) => (c.run = new Run(c, 0, 0, 0, 0, undefined)), has: (c) => c.run !== undefined },
};

for (const [name, { set, has }] of Object.entries(STATES)) {
  test(`a connection keeps its own state until it is closed: ${name}`, (t) => {
    const table = new Connections();
    for (const slot of [0, 1, 2]) table.open(slot, 10 + slot);
    const own = table.find(1);
    set(own);
    table.settle();
    for (const slot of [0, 2]) t.false(has(table.find(slot)), `slot ${slot}`);
    t.is(table.find(1), own);
    t.is(own.id, 11);
    t.is(table.close(1, 99), undefined);
    t.is(table.close(1, 11), own);
    t.is(table.find(1), undefined);
    t.false(has(table.open(1, 13)));
  });

  test(`state that begins when a connection is closed stays with it: ${name}`, (t) => {
    const table = new Connections();
    table.open(0, 10);
    table.settle();
    const closed = table.close(0, 10);
    set(closed);
    table.settle();
    const next = table.open(0, 11);
    t.not(next, closed);
    t.false(has(next));
    t.is(closed.id, 10);
  });
}

test('the table grows, and ids beyond 32 bits are kept', (t) => {
  const table = new Connections();
  for (let slot = 0; slot < 70_000; slot += 1) table.open(slot, 2 ** 40 + slot);
  for (const slot of [0, 4095, 4096, 69_999]) t.is(table.find(slot)?.id, 2 ** 40 + slot);
  t.is(table.find(70_000), undefined);
});
