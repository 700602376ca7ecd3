// A start that fails on the native side, which no option brings about: the real native side but for its first `start`.
import { createRequire } from 'node:module';
import test from 'ava';

import { handshake } from '../support/http.mjs';
import { worker } from '../support/server.mjs';

const require = createRequire(import.meta.url);
const { binding } = require('../../js/dist/addon/binding.js');
const { MillraceError } = require('../../js/dist/errors.js');
const { Gateway } = require('../../js/dist/gateway/gateway.js');

test('a start that fails leaves no log open for the next one', async (t) => {
  delete process.env.RUST_LOG;
  const { id, gateway: real } = binding().createGateway();
  let calls = 0;
  const start = (...args) => {
    calls += 1;
    if (calls === 1) throw new MillraceError('ERR_MILLRACE_SHARD_FAILED', 'no thread for us');
    real.start(...args);
  };
  const gateway = Gateway.create(Object.create(real, { start: { value: start } }), id);
  const options = {
    bind: '127.0.0.1:0',
    workerPath: worker('no-handlers'),
    threads: 0,
    origins: 'same-host',
  };
  const lines = [];
  const onLog = (line) => lines.push(line);
  await t.throwsAsync(gateway.start({ ...options, onLog, logLevel: 'trace' }), { code: 'ERR_MILLRACE_SHARD_FAILED' });
  const server = await gateway.start(options);
  t.teardown(() => server.stop());
  // a refusal is logged before it is answered
  const { status } = await handshake(server.addresses[0], { headers: { Origin: 'http://elsewhere.example' } });
  t.is(status, 403);
  t.deepEqual([...lines, ...real.takeLog().lines], []);
});
