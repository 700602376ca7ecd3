// The Redis publisher example: what a Redis client publishes reaches a WebSocket, and its user may do nothing else.
import path from 'node:path';
import test from 'ava';

import { toolPath } from '../../scripts/optional-tools.mjs';
import { within } from '../support/deadline.mjs';
import { Example, ended } from '../support/example.mjs';
import { needing } from '../support/needing.mjs';
import { connect as connectResp } from '../support/resp.mjs';
import { connect } from '../support/ws-client.mjs';

const SCRIPT = 'examples/redis-publisher/server.mjs';
const ARGS = ['--port', '0', '--redis-port', '0'];
const redisAddress = (example) => /redis:\/\/sensors:water@(\S+)/.exec(example.output)[1];

test('figures that a Redis client publishes reach the page', async (t) => {
  const example = await Example.start(SCRIPT, [...ARGS, '--no-publisher']);
  t.teardown(() => example.kill());
  t.regex(await (await fetch(`${example.url}/`)).text(), /The mill/);
  const page = await connect(t, `127.0.0.1:${example.port}`, { headers: { Host: `localhost:${example.port}` } });
  const redis = await connectResp(t, redisAddress(example));
  t.is(await redis.ask('PUBLISH', 'sensor:wheel', 'x'), '-NOAUTH Authentication required.\r\n');
  t.is(await redis.ask('AUTH', 'sensors', 'water'), '+OK\r\n');
  t.is(await redis.ask('PUBLISH', 'sensor:wheel', '{"litres":1}'), ':1\r\n');
  t.is(await page.text(), '{"litres":1}');
  t.regex(await redis.ask('PUBLISH', 'other', 'x'), /^-NOPERM /);
  t.regex(await redis.ask('SUBSCRIBE', 'sensor:wheel'), /^-NOPERM /);
  t.is(await example.end(), ended());
});

needing(test, 'python3 with redis')('publish.py publishes for ever', async (t) => {
  // the first python3 of the PATH may be one without it
  const folder = path.dirname(toolPath('python3 with redis'));
  const env = { PATH: `${folder}${path.delimiter}${process.env.PATH}` };
  const example = await Example.start(SCRIPT, ARGS, env);
  t.teardown(() => example.kill());
  const page = await connect(t, `127.0.0.1:${example.port}`);
  const seen = new Set();
  while (seen.size < 3) seen.add(JSON.parse(await within(page.text(), 'a figure')).sensor);
  t.deepEqual([...seen].toSorted(), ['inlet', 'outlet', 'wheel']);
  t.is(await example.end(), ended());
});
