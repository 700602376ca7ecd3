// Sockety byte by byte: which input servers of millrace/sockety accept, and which errors end only their connection.
import { once } from 'node:events';
import net from 'node:net';
import test from 'ava';

import { until, within } from '../support/deadline.mjs';
import { connect, createServer, Draft } from '../support/millrace-sockety.mjs';

const U = '00112233445546778899aabbccddeeff';
const FAST_REPLY = `30 ${U}`;
const bytes = (hex) => Buffer.from(hex.replaceAll(' ', '').replaceAll('U', U), 'hex');

/** A server that records all events, with the errors of its connections. */
async function listen(t, options) {
  const heard = [];
  const errors = [];
  const server = createServer(options, (connection) => {
    connection.on('error', ({ code, message }) => errors.push(`${code}: ${message}`));
    connection.on('fastReply', (id, code) => heard.push(`fast reply ${code} to ${id.toBuffer().toString('hex')}`));
    connection.on('heartbeat', () => heard.push('heartbeat'));
    const told = async (message) => {
      const parts = [message.action];
      if (message.data !== null) parts.push(`data ${await message.dataBuffer()}`);
      for (const file of message.files) parts.push(`${file.name} ${Buffer.concat(await file.toArray())}`);
      heard.push(parts.join(', '));
      await message.accept();
    };
    // one whose connection ends is not told of
    connection.on('message', (message) => told(message).catch(() => undefined));
  });
  await server.listen(0, '127.0.0.1');
  const { port } = server.address();
  t.teardown(async () => {
    const closing = server.close();
    for (const client of server.clients) client.close(true);
    await closing;
  });
  return { server, port, heard, errors };
}

/** A socket that has sent this behind a header. */
async function raw(t, port, hex, { slowly = false } = {}) {
  const socket = net.connect(port, '127.0.0.1');
  t.teardown(() => socket.destroy());
  socket.on('error', () => undefined).resume();
  await once(socket, 'connect');
  socket.setNoDelay(true);
  const wire = bytes(hex);
  if (!slowly) socket.write(wire);
  else for (const byte of wire) await new Promise((resolve) => socket.write(Buffer.of(byte), resolve));
  return socket;
}

const MESSAGE = '20 13 00 U 01 61';
const DELIVERED = {
  'wide packet sizes': ['24 1300 00 U 01 61  28 130000 00 U 01 61  2C 13000000 00 U 01 61', ['a', 'a', 'a']],
  'a wide length of the action': ['20 14 02 U 0100 61', ['a']],
  'wide data sizes': [
    '20 15 80 U 01 61 0200 E0 02 6869  20 19 C0 U 01 62 020000000000 EC 02000000 6869',
    ['a, data hi', 'b, data hi'],
  ],
  'a reserved flag': ['20 13 01 U 01 61', ['a']],
  'data of no bytes': ['20 14 40 U 01 61 00', ['a']],
  'no files': ['20 16 10 U 01 66 00 0000', ['f']],
  'a name in three pieces': ['20 11 00 U  60 02 03 61  60 02 62 63', ['abc']],
  'signs of life and answers within a head': [
    `20 11 00 U  A0  ${FAST_REPLY}  60 02 01 61`,
    ['heartbeat', `fast reply 0 to ${U}`, 'a'],
  ],
  'a channel in its long form, and the last one': [`10 05 ${MESSAGE} 1F FF ${MESSAGE}`, ['a', 'a']],
  'a code in its long form': ['40 05 U', [`fast reply 5 to ${U}`]],
  'low bits that mean nothing': ['AF', ['heartbeat']],
  'what means nothing without a message': [`B0 90 ${MESSAGE}`, ['a']],
  'an empty packet of data': ['20 14 40 U 01 61 02 E0 00 E0 02 6869', ['a, data hi']],
};

for (const slowly of [false, true]) {
  test(`taken, ${slowly ? 'each byte alone' : 'at once'}`, async (t) => {
    for (const [what, [hex, expected]] of Object.entries(DELIVERED)) {
      const { port, heard, errors } = await listen(t);
      await raw(t, port, `E3 ${hex}`, { slowly });
      await until(() => heard.length >= expected.length || errors.length > 0, `${what}; heard ${heard}`);
      t.deepEqual([[...heard].sort(), errors], [[...expected].sort(), []], what);
    }
  });
}

const WITH_DATA = '20 14 40 U 01 61 02';
const WITH_FILE = '20 1A 10 U 01 66 01 0300 00 03 01 78';
const MISTAKES = {
  'unknown packet type': 'F0',
  'nothing to continue': '60 02 01 61',
  'channel busy': `${WITH_DATA} ${MESSAGE}`,
  'body too long': '20 14 00 U 01 61 00',
  'unexpected Data': 'E0 02 6869',
  'unexpected Stream': `${WITH_DATA} 70 01 61`,
  'unexpected Stream End': '80',
  'unexpected File': 'C0 01 61',
  'unexpected File End': 'D0',
  'too much data': `${WITH_DATA} E0 03 686921`,
  'wrong file index': `${WITH_FILE} C1 03 01 616263`,
  'file too long': `${WITH_FILE} C0 04 61626364`,
  'file too short': `${WITH_FILE} C0 01 61 D0`,
  'invalid UTF-8 in action': '20 13 00 U 01 FF',
};

test('each mistake ends its connection with a word, and no other', async (t) => {
  const { server, port, errors } = await listen(t);
  const witness = await connect(port, '127.0.0.1').ready();
  for (const [reason, hex] of Object.entries(MISTAKES)) {
    const socket = await raw(t, port, `E3 ${hex}`);
    await within(once(socket, 'close'), `the end after "${reason}"`);
    await until(() => errors.length > 0, `an error for "${reason}"`);
    t.deepEqual(errors.splice(0), [`ERR_SOCKETY_PROTOCOL: ${reason}`]);
    t.is(await witness.send(Draft.for('still')()).response(), 0, reason);
  }
  t.is(server.clients.length, 1);
  await witness.close();
});

test('invalid headers, and limits', async (t) => {
  const { server, port } = await listen(t);
  for (const hex of ['00', 'E2 00 00', '47 45 54 20']) {
    const socket = await raw(t, port, hex);
    await within(once(socket, 'close'), `the end after ${hex}`);
  }
  t.is(server.clients.length, 0, 'nobody was told of them');
  const limited = await listen(t, { maxReceivedChannels: 2, maxFiles: 0, maxHeaderSize: 64 });
  for (const [reason, hex] of [
    ['channel out of range', `02 ${MESSAGE}`],
    ['too many files', WITH_FILE],
    ['head too big', `24 FFFF 00 U FF ${'61'.repeat(255)}`],
  ]) {
    const socket = await raw(t, limited.port, `E3 ${hex}`);
    await within(once(socket, 'close'), `the end after "${reason}"`);
    await until(() => limited.errors.length > 0, `an error for "${reason}"`);
    t.deepEqual(limited.errors.splice(0), [`ERR_SOCKETY_PROTOCOL: ${reason}`]);
  }
});

test('a claimed size allocates nothing', async (t) => {
  const { server, port, errors } = await listen(t);
  const before = process.memoryUsage().rss;
  for (let index = 0; index < 100; index++) {
    // a message with 2^47 bytes of data, and a packet of 1 MiB, of which two bytes come
    await raw(t, port, 'E3 20 19 C0 U 01 62 000000000080 EC 00001000 6869');
  }
  await until(() => server.clients.length === 100, 'all of them');
  t.deepEqual(errors, []);
  t.true(process.memoryUsage().rss - before < 64 * 1024 * 1024);
});
