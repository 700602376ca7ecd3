// The certificate of the servers that speak TLS: made for this run by the openssl command, and removed at its end.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { toolPath, whatIsMissing } from '../../scripts/optional-tools.mjs';

let folder;

/** The folder with `cert.pem` and `key.pem` for 127.0.0.1. The certificate is its own issuer: clients trust it alone. */
export function certificate() {
  if (folder !== undefined) return folder;
  const made = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
  process.once('exit', () => rmSync(made, { recursive: true, force: true }));
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', join(made, 'key.pem')];
  const names = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'];
  const use = ['-addext', 'basicConstraints=critical,CA:FALSE', '-days', '7'];
  const args = ['req', '-x509', ...key, ...names, ...use, '-out', join(made, 'cert.pem')];
  execFileSync(toolPath('openssl'), args, { stdio: ['ignore', 'ignore', 'pipe'] });
  folder = made;
  return folder;
}

/** Why there is no certificate, undefined if there can be one. */
export function withoutCertificate() {
  return whatIsMissing(['openssl']);
}
