// Becomes js/native/index.js: finds the native addon, the one built here or the one in the platform's package, and
// says what it tried where there is none.
'use strict';

/** This platform as the files and packages are named; on Linux the C library is found out by trying. */
function platforms() {
  const base = `${process.platform}-${process.arch}`;
  if (process.platform === 'win32') return [`${base}-msvc`];
  if (process.platform !== 'linux') return [base];
  return process.arch === 'arm' ? [`${base}-gnueabihf`] : [`${base}-gnu`, `${base}-musl`];
}

function load() {
  const failures = [];
  for (const platform of platforms()) {
    for (const place of [`./millrace.${platform}.node`, `millrace-${platform}`]) {
      try {
        return require(place);
      } catch (error) {
        failures.push(`${place}: ${String(error.message).split('\n')[0]}`);
      }
    }
  }
  throw new Error(`the native addon was not found:\n  ${failures.join('\n  ')}`);
}

module.exports = load();
