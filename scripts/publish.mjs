// Publishes the tarballs of target/packages: the platforms' packages first, the main one last, so that the main package
// is never available without its platforms. It skips packages that the registry already has, so you can repeat an
// interrupted run. `--dry-run` only prints what it would do.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

import { packedTarballs } from './pack.mjs';
import { Failure, fail, npm, ROOT, run } from './process.mjs';

async function publish({ dryRun }) {
  const { name, version, napi, repository } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8'));
  // npm compares it with the workflow that attests the package's provenance
  if (repository === undefined) {
    throw new Failure(
      'package.json names no repository: docs/releasing.md says what to fill in before the first release',
    );
  }
  const { main, platforms } = packedTarballs();
  const packed = Object.entries(platforms).sort();
  if (packed.length !== napi.targets.length) {
    throw new Failure(`${packed.length} of ${napi.targets.length} platforms are packed: node scripts/pack.mjs --all`);
  }
  const packages = [...packed.map(([platform, tarball]) => [`${name}-${platform}`, tarball]), [name, main]];
  // "npm install millrace" must not install a version such as 1.0.0-beta.1.
  const tag = version.includes('-') ? 'next' : 'latest';
  // Only a workflow can attest provenance; the very first version is published by hand.
  const provenance = `--provenance=${process.env.GITHUB_ACTIONS === 'true'}`;
  for (const [packageName, tarball] of packages) {
    if (isPublished(`${packageName}@${version}`)) console.log(`${packageName}@${version} is published already`);
    else await run(npm('publish', tarball, '--tag', tag, provenance, ...(dryRun ? ['--dry-run'] : [])));
  }
}

/** @throws {Failure} when the registry does not answer */
function isPublished(spec) {
  const [program, ...args] = npm('view', spec, 'version', '--json');
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  if (status === 0) return stdout.trim() !== '';
  if (/E404/.test(stdout + stderr)) return false;
  throw new Failure(`npm view ${spec} failed:\n${stderr}`);
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const unknown = process.argv.slice(2).filter((arg) => arg !== '--dry-run');
  if (unknown.length > 0) fail(new Failure(`unknown argument ${unknown[0]}; --dry-run is the only one`));
  await publish({ dryRun: process.argv.includes('--dry-run') }).catch(fail);
}
