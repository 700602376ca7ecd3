// `npm run format`: writes what `npm run lint` would complain about and a tool can mend.
import { fail, run, tool } from './process.mjs';

async function format() {
  await run(['cargo', 'fmt', '--all']);
  await run([...tool('@biomejs/biome', 'biome'), 'check', '--write']);
  await run(['cargo', 'xtask', 'generate']);
}

await format().catch(fail);
