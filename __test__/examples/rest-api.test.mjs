// The REST API example: a client lists, makes, changes and deletes users, and errors are JSON, too.
import test from 'ava';
import { Example, ended } from '../support/example.mjs';

let api;

test.before(async () => {
  api = await Example.start('examples/rest-api/server.mjs', ['--port', '0']);
});
test.after.always(() => api?.kill());

const TYPE = { 'content-type': 'application/json' };
const ask = async (path, method = 'GET', body = undefined, headers = TYPE) => {
  const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
  // a connection for each: one that is kept may be closed while it is asked again
  const own = { ...headers, connection: 'close' };
  const answer = await fetch(`${api.url}${path}`, { method, headers: own, body: text });
  const content = await answer.text();
  return { status: answer.status, headers: answer.headers, content: content === '' ? undefined : JSON.parse(content) };
};

test('users are listed, and found by a part of their name', async (t) => {
  const { status, headers, content } = await ask('/api/users');
  t.is(status, 200);
  t.is(headers.get('content-type'), 'application/json; charset=utf-8');
  t.regex(headers.get('cache-control'), /no-store/);
  t.like(content, [{ id: 1, name: 'Anna', email: 'anna@example.org' }, { id: 2 }]);
  t.deepEqual(
    (await ask('/api/users?name=AN')).content.map(({ name }) => name),
    ['Anna'],
  );
});

test('one user by its id, 404 as JSON for another', async (t) => {
  t.deepEqual((await ask('/api/users/1')).content, { id: 1, name: 'Anna', email: 'anna@example.org' });
  const missing = await ask('/api/users/99');
  t.is(missing.status, 404);
  t.deepEqual(missing.content, { error: 'there is no user 99' });
  t.is(missing.headers.get('content-type'), 'application/json; charset=utf-8');
});

test('a user is made, changed and deleted', async (t) => {
  const made = await ask('/api/users', 'POST', { name: ' Cl\u00e9o ', email: 'cleo@example.org', id: 1 });
  t.is(made.status, 201);
  t.like(made.content, { name: 'Cl\u00e9o', email: 'cleo@example.org' });
  const place = made.headers.get('location');
  t.is(place, `/api/users/${made.content.id}`);
  t.deepEqual((await ask(place)).content, made.content);
  const changed = await ask(place, 'PUT', { name: 'Cleo', email: 'c@example.org' });
  t.is(changed.status, 200);
  t.deepEqual((await ask(place)).content, { id: made.content.id, name: 'Cleo', email: 'c@example.org' });
  const gone = await ask(place, 'DELETE');
  t.is(gone.status, 204);
  t.is(gone.content, undefined);
  t.is((await ask(place)).status, 404);
  t.is((await ask(place, 'DELETE')).status, 404);
});

for (const [what, body, message] of [
  ['invalid JSON', '{', /the body is not valid JSON/],
  ['no object', '7', /name must be/],
  ['nothing', '', /name must be/],
  ['an empty name', { name: ' ', email: 'a@b' }, /name must be/],
  ['no address', { name: 'Dora', email: 'dora' }, /email must be/],
]) {
  test(`an invalid user is answered with 400: ${what}`, async (t) => {
    const { status, content } = await ask('/api/users', 'POST', body);
    t.is(status, 400);
    t.regex(content.error, message);
  });
}

test('too much is 413, another path 404', async (t) => {
  t.is((await ask('/api/users', 'POST', JSON.stringify('x'.repeat(20_000)))).status, 413);
  const { status, content } = await ask('/nothing/here');
  t.is(status, 404);
  t.deepEqual(content, { error: 'there is nothing at /nothing/here' });
  t.is((await ask('/health')).content.status, 'ok');
});

test('requests are logged, and it ends on a signal', async (t) => {
  const own = await Example.start('examples/rest-api/server.mjs', ['--port', '0']);
  t.teardown(() => own.kill());
  t.is((await fetch(`${own.url}/health`)).status, 200);
  t.is(await own.end(), ended());
  t.regex(own.output, /\] GET \/health$/m);
});
