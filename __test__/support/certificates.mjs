// Certificates for one run of a test, issued by its own authority with the openssl command.
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

import { toolPath } from '../../scripts/optional-tools.mjs';
import { needing } from './needing.mjs';
import { remove } from './teardown.mjs';

const run = promisify(execFile);

/** A certificate authority in a folder of its own. */
export class Authority {
  /** Its certificate, in PEM. */
  ca = '';
  /** The folder of all files. */
  folder = '';
  #serial = 0;

  /** One for the tests of a file, if openssl is installed; `prepare` issues the certificates that they share. */
  static of(test, prepare = async () => {}, name = 'Millrace test authority') {
    const authority = new Authority();
    const hooks = needing(test, 'openssl');
    hooks.before(async () => {
      authority.folder = await mkdtemp(path.join(os.tmpdir(), 'millrace-tls-'));
      await openssl(authority.folder, [
        ...['req', '-x509', ...NEW_KEY, '-keyout', 'ca.key', '-out', 'ca.pem', '-days', '2', '-subj', `/CN=${name}`],
        ...['-addext', 'basicConstraints=critical,CA:TRUE', '-addext', 'keyUsage=critical,keyCertSign,cRLSign'],
      ]);
      authority.ca = await readFile(authority.file('ca.pem'), 'utf8');
      await prepare(authority);
    });
    hooks.after.always(() => authority.folder && remove(authority.folder));
    return authority;
  }

  /** The path of a file in the folder. */
  file(name) {
    return path.join(this.folder, name);
  }

  /**
   * A certificate for servers of these names (`'a.example'`, `'127.0.0.1'`), or for a client. `{cert, key}` in PEM, and
   * the files that they are in.
   */
  async issue({ names = ['localhost', '127.0.0.1'], client = false, subject = `/CN=${names[0]}` } = {}) {
    const base = `issued-${++this.#serial}`;
    const [key, request, extensions, cert] = ['key', 'csr', 'ext', 'pem'].map((kind) => `${base}.${kind}`);
    const alternatives = names.map((name) => `${/^[0-9.]+$|:/.test(name) ? 'IP' : 'DNS'}:${name}`).join(',');
    const usage = `extendedKeyUsage=${client ? 'clientAuth' : 'serverAuth'}`;
    await writeFile(this.file(extensions), client ? `${usage}\n` : `${usage}\nsubjectAltName=${alternatives}\n`);
    const asked = ['-keyout', key, '-out', request, '-subj', subject, '-multivalue-rdn', '-utf8'];
    await openssl(this.folder, ['req', '-new', ...NEW_KEY, ...asked]);
    const signed = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2', '-extfile', extensions];
    await openssl(this.folder, ['x509', '-req', '-in', request, '-out', cert, ...signed]);
    const [certFile, keyFile] = [this.file(cert), this.file(key)];
    return {
      cert: await readFile(certFile, 'utf8'),
      key: await readFile(keyFile, 'utf8'),
      certFile,
      keyFile,
      /** The same as options, by path. */
      files: { cert: certFile, key: keyFile },
    };
  }
}

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

async function openssl(folder, args) {
  await run(toolPath('openssl'), args, { cwd: folder });
}
