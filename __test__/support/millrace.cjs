// The CommonJS twin of millrace.mjs.
module.exports = require('../../js/dist/index.js');
