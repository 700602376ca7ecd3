// A program that connects to a multiplexer with the WebSocket of its runtime. The arguments are the URLs of the
// multiplexer and of a target. A line on stdout requests the loss of the connection, the last line has the results.
// biome-ignore lint/correctness/useImportExtensions: the built file, not its types
import { connect } from '../../../js/dist/splice-client.mjs';
import { visit } from '../splice-visit.mjs';

const [mux, target] = process.argv.slice(2);
console.log(JSON.stringify(await visit(connect, { mux, target, lose: () => console.log('lose') })));
