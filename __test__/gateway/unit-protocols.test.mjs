// How options and workers use the list of protocols, with two more protocols that exist only here.
import { createRequire } from 'node:module';
import test from 'ava';

const require = createRequire(import.meta.url);
const events = [];
const protocols = require('../../js/dist/protocols/registry.js').default;
const built = protocols.map(({ name }) => `'${name}'`).join(', ');
protocols.push(
  {
    name: 'echo',
    keys: ['origins', 'loud'],
    read: ({ loud }, at, address, _defaults, problems) => {
      if (loud === 'no') problems.push(`${at}.loud of ${address} must be loud`);
      return { loud };
    },
    worker: () => ({
      events: { 7007: (event) => events.push(['echo', event]) },
      closed: (socketId) => events.push(['echo', socketId]),
    }),
  },
  {
    name: 'silent',
    keys: ['loud'],
    read: () => ({}),
    worker: () => ({
      events: { 7009: (event) => events.push(['silent', event]) },
      closed: (socketId) => events.push(['silent', socketId]),
    }),
  },
);
const { parseStartOptions } = require('../../js/dist/options/start-options.js');
const { protocolWorker } = require('../../js/dist/protocols/protocol-workers.js');

function messageOf(...bind) {
  try {
    parseStartOptions({ bind, workerPath: '/app/worker.js' }, true);
  } catch (error) {
    return error.message;
  }
  return 'accepted';
}

test('a protocol reads its own options, and its result becomes the plan', (t) => {
  const bind = { address: ':1', protocol: 'echo', loud: 'yes', reusePort: true, limits: { messageBytes: 5 } };
  const { listeners } = parseStartOptions({ bind, workerPath: '/app/worker.js' }, true);
  t.deepEqual(listeners, [
    { address: ':1', protocol: 'echo', options: { loud: 'yes' }, reusePort: true, limits: { messageBytes: 5 } },
  ]);
});

test('problems that protocols find are reported with all others', (t) => {
  const message = messageOf(':1', { address: ':2', protocol: 'echo', loud: 'no', reusePort: 1 });
  t.true(message.includes('options.bind[1].loud of :2 must be loud'), message);
  t.true(message.includes('options.bind[1].reusePort must be true or false, not 1'), message);
});

test('an option of other protocols is reported with the protocols that have it', (t) => {
  t.is(
    messageOf({ address: ':1', protocol: 'silent', origins: '*' }),
    "options.bind[0].origins is for listeners with protocol 'http', 'splice' or 'echo'",
  );
  t.is(
    messageOf({ address: ':1', loud: 'yes' }),
    "options.bind[0].loud is for listeners with protocol 'echo' or 'silent'",
  );
  t.is(
    messageOf({ address: '127.0.0.1:1', protocol: 'resp', loud: 'yes', origins: '*' }),
    'invalid options:\n' +
      "  options.bind[0].origins is for listeners with protocol 'http', 'splice' or 'echo'\n" +
      "  options.bind[0].loud is for listeners with protocol 'echo' or 'silent'",
  );
  t.is(messageOf({ address: ':1', loud: undefined }), 'accepted');
});

test('an unknown protocol is reported with the list of protocols', (t) => {
  t.true(built.startsWith("'http', 'resp'"), built);
  for (const [protocol, told] of [
    ['gopher', '"gopher"'],
    [null, 'null'],
  ]) {
    t.is(
      messageOf({ address: ':1', protocol, loud: 'yes' }),
      `options.bind[0].protocol must be ${built}, 'echo' or 'silent', not ${told}`,
    );
  }
});

test('the events of all protocols are found by number', (t) => {
  const { events: all, closed } = protocolWorker({});
  const event = { socketId: 1, token: undefined, fields: Buffer.alloc(0), payload: Buffer.alloc(0) };
  all[7007](event);
  all[7009](event);
  closed(5);
  t.deepEqual(events, [
    ['echo', event],
    ['silent', event],
    ['echo', 5],
    ['silent', 5],
  ]);
  t.is(all[7008], undefined);
});
