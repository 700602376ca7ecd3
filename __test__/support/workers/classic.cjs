// A CommonJS worker module that uses the CommonJS entry of the package.
const { send } = require('../millrace.cjs');

exports.handleTextMessage = (text, socketId) => {
  send(socketId, `cjs ${text}`);
};
