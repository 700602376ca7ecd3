// The parts of Sockety messages: drafts, files, ids, and the handler that dispatches by action.
import { readFile } from 'node:fs/promises';
import test from 'ava';

import { Draft, FastReply, FileTransfer, MessageHandler, ResponseDraft, UUID } from '../support/millrace-sockety.mjs';
import { connectionOf, withFiles } from '../support/sockety-unit.mjs';

const ID = '00112233-4455-4677-8899-aabbccddeeff';

test('ids are random UUIDs of version 4, and compare by their bytes', (t) => {
  const ids = Array.from({ length: 1000 }, () => UUID.random());
  t.is(new Set(ids.map(String)).size, 1000);
  for (const id of ids) t.regex(String(id), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  const bytes = Buffer.from(ID.replaceAll('-', ''), 'hex');
  const id = UUID.ofBytes(bytes.latin1Slice(0, 16));
  t.is(String(id), ID);
  t.is(JSON.stringify({ id }), `{"id":"${ID}"}`);
  t.deepEqual(id.toBuffer(), bytes);
  t.true(id.equals(UUID.ofBytes(bytes.latin1Slice(0, 16))));
  t.false(id.equals(ids[0]));
  t.false(id.equals(ID));
  const buffer = Buffer.alloc(20);
  id.write(buffer, 3);
  t.deepEqual(buffer.subarray(3, 19), bytes);
});

test('a draft is called to make a message', (t) => {
  const draft = Draft.for('ping').data();
  t.true(draft instanceof Draft);
  t.true(draft instanceof Function);
  t.throws(() => draft(), { message: 'The message requires "data" property.' });
  const producer = draft({ data: 'grüße' });
  t.is(String(producer.action), 'ping');
  t.is(String(producer.data), 'grüße');
  t.is(producer.parentId, undefined);
  t.deepEqual([producer.files, producer.hasStream], [[], false]);
  t.is(draft.optimize(), draft.optimize(), 'prepared once');
  const before = draft.optimize();
  t.is(draft.stream(), draft, 'changed in place');
  t.not(draft.optimize(), before);
  t.true(draft({ data: '' }).hasStream);
});

test('a draft may have data, MessagePack and files that never change', (t) => {
  t.is(String(Draft.for('a').data('fixed')().data), 'fixed');
  t.deepEqual([...Draft.for('a').msgpack(null)().data], [0xc0]);
  t.deepEqual([...Draft.for('a').msgpack()({ data: [1, 'x'] }).data], [0x92, 1, 0xa1, 0x78]);
  t.throws(() => Draft.for('a').msgpack()({}), { message: 'The message requires "data" property.' });
  const file = FileTransfer.buffer(Buffer.from('abc'), 'f');
  t.deepEqual(Draft.for('a').files([file])().files, [file]);
  t.throws(() => Draft.for('a').files()({}), { message: 'The message requires "files" property.' });
  t.throws(() => Draft.for('a').files(['f']), { instanceOf: TypeError });
  t.throws(() => Draft.for('a').data(5), { instanceOf: TypeError });
});

test('an action has at most 65,535 bytes', (t) => {
  t.notThrows(() => new Draft('x'.repeat(65_535)));
  t.throws(() => new Draft('x'.repeat(65_536)), { message: "The 'action name' value is too big" });
  t.throws(() => new Draft(5), { instanceOf: TypeError });
});

test('a response draft makes an answer to any message', (t) => {
  const draft = new ResponseDraft().data();
  const id = UUID.random();
  const producer = draft({ data: 'x' })(id);
  t.true(producer.parentId.equals(id));
  t.is(producer.action.length, 0);
  t.throws(() => draft(), { message: 'The message requires "data" property.' });
});

test('files come from memory, from the file system and from streams', async (t) => {
  const file = FileTransfer.buffer(Buffer.alloc(600_000, 1), 'name');
  t.deepEqual([file.name, file.size], ['name', 600_000]);
  t.is(Buffer.concat([...FileTransfer.open(file)]).length, 600_000);
  const here = await FileTransfer.fs(new URL(import.meta.url).pathname);
  t.is(here.name, 'unit-drafts.test.mjs');
  await t.throwsAsync(() => FileTransfer.fs('/does/not/exist'), { code: 'ENOENT' });
  const once = FileTransfer.stream([Buffer.from('a')], 1, 'once');
  const used = { code: 'ERR_SOCKETY_USED', message: 'FileTransfer with stream may be used only once.' };
  t.throws(() => FileTransfer.use([once, once]), used);
  FileTransfer.use([file, once, file]);
  t.throws(() => FileTransfer.use([file, once]), used);
  FileTransfer.use([file, file]);
  for (const [stream, size, name] of [
    [null, 1, 'stream'],
    [{}, 1, 'stream'],
    ['text', 1, 'stream'],
    [[], -1, 'size'],
    [[], 2 ** 48, 'size'],
  ]) {
    t.throws(() => FileTransfer.stream(stream, size, 'x'), { instanceOf: TypeError, message: new RegExp(`'${name}'`) });
  }
  t.throws(() => FileTransfer.buffer('text', 'x'), { instanceOf: TypeError });
  t.throws(() => FileTransfer.buffer(Buffer.alloc(0), 'x'.repeat(65_536)), { instanceOf: TypeError });
});

test('fast replies have names', (t) => {
  t.deepEqual(
    [FastReply.Accept, FastReply.Reject, FastReply.NotImplemented, FastReply.Unauthorized, FastReply.BadRequest],
    [0, 1, 2, 3, 4],
  );
  t.is(FastReply[5], 'InternalError');
});

/** What a handler looks at of a message, and the codes that it was answered with. */
function messageOf(action, expectsResponse = true) {
  const codes = [];
  return {
    action,
    expectsResponse,
    codes,
    responded: false,
    async fastReply(code) {
      this.responded = true;
      codes.push(code);
    },
    settle() {},
  };
}

test('a message handler runs all that fits, in order, and answers with the first number', async (t) => {
  const calls = [];
  const handler = new MessageHandler()
    .use((_message, error) => calls.push(`use ${error}`) && undefined)
    .action('a', () => FastReply.Accept)
    .action('t', () => {
      throw new Error('as asked');
    })
    .action('n', () => undefined)
    .error((_message, error) => calls.push(error.message) && FastReply.InternalError)
    .use(async () => FastReply.NotImplemented);
  t.true(handler instanceof MessageHandler);
  for (const [action, code] of [
    ['a', 0],
    ['t', 5],
    ['n', 2],
    ['other', 2],
  ]) {
    const message = messageOf(action);
    await handler(message);
    t.deepEqual(message.codes, [code], action);
  }
  const silent = messageOf('a', false);
  await handler(silent);
  t.deepEqual(silent.codes, [], 'nobody waits for it');
  t.deepEqual(calls, ['use null', 'use null', 'as asked', 'use null', 'use null', 'use null']);
  t.is(handler.optimize(), handler.optimize());
});

test('a connection is not read while too many of its contents wait to be read', async (t) => {
  const { connection, transfers, notes } = connectionOf();
  const size = 1024 * 1024;
  const message = withFiles(connection, Array(20).fill(size));
  const counted = () => notes.splice(0).filter(([name]) => name === 'hold' || name === 'release');
  for (let index = 0; index < 16; index++) transfers.find(100 + index).piece(Buffer.alloc(size), true);
  t.deepEqual(counted(), []);
  transfers.find(116).piece(Buffer.alloc(10), false);
  transfers.find(117).piece(Buffer.alloc(10), false);
  t.deepEqual(counted(), [['hold', 7, 2 ** 31, 0]]);
  const { files } = message;
  t.deepEqual(counted(), [], 'that they are streams changes nothing');
  for (const file of files.slice(0, 8)) {
    let bytes = 0;
    for await (const piece of file) bytes += piece.length;
    t.is(bytes, size);
    t.true(file.loaded);
  }
  files[8].destroy();
  t.deepEqual(counted(), [['release', 7, 2 ** 31, 0]]);
});

test('contents that are dropped are kept no longer, also when all of them came', (t) => {
  const { connection, transfers, notes } = connectionOf();
  const size = 9 * 1024 * 1024;
  const message = withFiles(connection, [size, size]);
  transfers.find(100).piece(Buffer.alloc(size), true);
  transfers.find(101).piece(Buffer.alloc(size - 1), false);
  message.discard();
  const names = notes.map(([name]) => name);
  t.deepEqual(names, ['hold', 'release', 'endAnswer']);
  t.is(transfers.find(101), undefined);
});

test('what is written is asked about by one note at a time', async (t) => {
  const { connection, notes } = connectionOf();
  const tells = () => notes.splice(0).filter(([name]) => name === 'tell').length;
  const producer = Draft.for('a')();
  const settled = [];
  const pass = (name) => connection.pass(producer).then(() => settled.push(name));
  const passes = [pass('first'), pass('second')];
  await Promise.resolve();
  t.is(tells(), 3, 'two messages and a note');
  passes.push(pass('third'));
  await Promise.resolve();
  t.is(tells(), 1, 'the message');
  connection.noted();
  await Promise.all(passes.slice(0, 2));
  t.deepEqual(settled, ['first', 'second']);
  t.is(tells(), 1, 'a note for the third');
  const failure = t.throwsAsync(passes[2], { code: 'ERR_SOCKETY_CLOSED' });
  connection.ended(undefined);
  await failure;
  t.throws(() => connection.send(producer), { code: 'ERR_SOCKETY_CLOSED' });
});

test('each call for an answer waits for one of its own, and for no longer than it says', async (t) => {
  const { connection } = connectionOf();
  const request = connection.send(Draft.for('a')());
  const answers = [request.response(), request.response(10)];
  const memory = new ArrayBuffer(20);
  const [words, buffer] = [new Uint32Array(memory), Buffer.from(memory)];
  words[0] = 9;
  request.id.write(buffer, 4);
  connection.fastReplied({ words, buffer, start: 0 });
  t.is(await answers[0], 9);
  await t.throwsAsync(answers[1], { code: 'ERR_SOCKETY_TIMEOUT' });
  const refused = request.response();
  connection.refused(request.id.toBuffer().latin1Slice(0, 16));
  await t.throwsAsync(refused, { code: 'ERR_SOCKETY_NOT_SENT' });
});

test('the guide names every code of an error', async (t) => {
  const [source, guide] = await Promise.all(
    ['../../js/src/sockety/sockety-errors.ts', '../../docs/sockety.md'].map((file) =>
      readFile(new URL(file, import.meta.url), 'utf8'),
    ),
  );
  const codes = new Set(source.match(/ERR_SOCKETY_[A-Z_]+/g));
  t.true(codes.size > 10);
  for (const code of codes) t.true(guide.includes(`\`${code}\``), code);
});
