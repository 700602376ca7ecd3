// A program that visits a multiplexer with the WebSocket of its runtime: its URL and a target's are the arguments, a line on stdout
// asks for the loss of the connection, the last one is what was seen.
// biome-ignore lint/correctness/useImportExtensions: the built file, not its types
import { connect } from '../../../js/dist/splice-client.mjs';
import { visit } from '../splice-visit.mjs';

const [mux, target] = process.argv.slice(2);
console.log(JSON.stringify(await visit(connect, { mux, target, lose: () => console.log('lose') })));
