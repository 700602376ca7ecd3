// `npm run docs`: the API reference from the doc comments into docs/api (not committed), Rust's beside it.
import { fail, run, tool } from './process.mjs';
import { setUp } from './setup.mjs';

async function makeDocs() {
  await setUp();
  await run(['cargo', 'xtask', 'generate']);
  await run(tool('typedoc'));
  await run(['cargo', 'doc', '--no-deps', '--workspace'], { env: { RUSTDOCFLAGS: '-D warnings' } });
  console.log('\ndocs/api/index.html has the JavaScript API');
}

await makeDocs().catch(fail);
