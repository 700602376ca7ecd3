/** Refuses versions of Node.js that lack what the package needs. Entries import this file before all others. */

if (process.getBuiltinModule === undefined) {
  throw new Error(`Millrace needs Node.js 20.17 or newer, and of Node.js 22 at least 22.3; this is ${process.version}`);
}
