import { WebSocket } from 'ws';

// Starts its own gateway with an object on this thread as handlers, and sends it a request and a message.
export default async function ownHandlers(millrace) {
  const gateway = millrace.createGateway();
  const server = await gateway.start({
    bind: '127.0.0.1:0',
    handlers: {
      greeting: 'hello',
      fetch() {
        return { body: `${this.greeting} ` };
      },
      handleTextMessage: (text, socketId) => gateway.send(socketId, `${text} `),
    },
  });
  const [address] = server.addresses;
  const response = await fetch(`http://${address}/`, { headers: { connection: 'close' } });
  const hello = `${await response.text()}${response.status}`;
  const socket = new WebSocket(`ws://${address}/`);
  await new Promise((resolve) => socket.addEventListener('open', resolve));
  const message = new Promise((resolve) => socket.addEventListener('message', resolve));
  socket.send('socket');
  const { data } = await message;
  socket.close();
  await server.stop();
  return `${hello}, ${data}200`;
}
