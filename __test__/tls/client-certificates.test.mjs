// Client certificates: which clients may connect, and what handleOpen learns about their certificates.
import { X509Certificate } from 'node:crypto';
import ava from 'ava';

import { Authority } from '../support/certificates.mjs';
import { needing } from '../support/needing.mjs';
import { needingRuntime } from '../support/runtimes.mjs';
import { failedHandshakes, ownServer, worker } from '../support/server.mjs';
import { connect } from '../support/ws-client.mjs';

/** All of them need certificates. */
const test = needing(ava, 'openssl');
const OPTIONS = { workerPath: worker('certificates'), threads: 1, ioThreads: 1 };
const SUBJECT = '/O=Exämple/OU=first/OU=second/UID=u1+CN=alice';
let identity;
let alice;
let untrusted;
const authority = Authority.of(test, async (made) => {
  identity = await made.issue();
  alice = await made.issue({ client: true, subject: SUBJECT });
});
const foreign = Authority.of(
  test,
  async (made) => {
    untrusted = await made.issue({ client: true, subject: '/CN=alice' });
  },
  'Somebody else',
);

const tlsOf = (clientCertificates, ca = authority.file('ca.pem')) => ({ ...identity.files, clientCertificates, ca });
/** What the worker reports about a client with this certificate, or the error's message. */
async function seen(t, server, { cert, key } = {}, more = {}) {
  try {
    const client = await connect(t, server.addresses[0], { tls: { ca: authority.ca, cert, key, ...more } });
    return await client.json();
  } catch (error) {
    return error.message;
  }
}

for (const runtime of ['node', 'bun', 'deno']) {
  needingRuntime(test, runtime)(`${runtime}: handleOpen gets the subject and the certificate`, async (t) => {
    const server = await ownServer(t, { ...OPTIONS, tls: tlsOf('required') }, { runtime });
    const { subject, raw } = await seen(t, server, alice);
    t.deepEqual(subject, { O: 'Exämple', OU: ['first', 'second'], UID: 'u1', CN: 'alice' });
    t.true(new X509Certificate(Buffer.from(raw, 'base64')).verify(new X509Certificate(authority.ca).publicKey));
  });
}

test("'required' refuses clients without a certificate of the authority", async (t) => {
  const server = await ownServer(t, { ...OPTIONS, tls: tlsOf('required') });
  t.regex(await seen(t, server), /refused|closed/);
  t.regex(await seen(t, server, untrusted), /refused|closed/);
  t.is((await seen(t, server, alice, { maxVersion: 'TLSv1.2' })).subject.CN, 'alice');
  await failedHandshakes(server, 2);
  t.is((await server.call('stats')).opened, 1);
});

test("'optional' accepts clients without a certificate, and refuses an invalid one", async (t) => {
  const ca = [authority.ca.trim(), foreign.ca.trim()];
  const server = await ownServer(t, { ...OPTIONS, tls: tlsOf('optional') });
  t.is(await seen(t, server), null);
  t.is((await seen(t, server, alice)).subject.CN, 'alice');
  t.regex(await seen(t, server, untrusted), /refused|closed/);
  await server.reloadTls(tlsOf('optional', ca));
  t.deepEqual((await seen(t, server, untrusted)).subject, { CN: 'alice' });
});

test('the worker does not see a certificate that the server did not request', async (t) => {
  const server = await ownServer(t, { ...OPTIONS, tls: identity.files });
  t.is(await seen(t, server, alice), null);
});

test('start refuses an invalid authority', async (t) => {
  const server = await ownServer(t);
  const error = await t.throwsAsync(server.start({ ...OPTIONS, tls: tlsOf('required', identity.keyFile) }));
  t.like(error, { code: 'ERR_MILLRACE_INVALID_TLS', message: 'tls.ca has no certificate in it' });
});
