// @ts-check
import { useState } from 'react';
import { useChannel, useStatus } from './useChannel.mjs';

const ROOMS = ['room:lobby', 'room:music', 'room:games'];

export function App() {
  const [room, setRoom] = useState(/** @type {string | undefined} */ (ROOMS[0]));
  const status = useStatus();
  return (
    <>
      <nav>
        {ROOMS.map((name) => (
          <button key={name} type="button" aria-pressed={name === room} onClick={() => setRoom(name)}>
            {name.slice('room:'.length)}
          </button>
        ))}
        <button type="button" onClick={() => setRoom(undefined)}>
          Leave
        </button>
      </nav>
      <p role="status">{status}</p>
      {room !== undefined && <Room channel={room} />}
    </>
  );
}

/** @param {{ channel: string }} props */
function Room({ channel }) {
  const { messages, publish } = useChannel(channel);

  /** @param {import('react').FormEvent<HTMLFormElement>} event */
  function submit(event) {
    event.preventDefault();
    const form = event.currentTarget;
    // without a connection, it waits
    publish(new FormData(form).get('text')).catch(({ message }) => alert(message));
    form.reset();
  }

  return (
    <section>
      <h1>{channel.slice('room:'.length)}</h1>
      <ul aria-label="Messages">
        {messages.map(({ offset, data }) => (
          <li key={offset}>{data}</li>
        ))}
      </ul>
      <form onSubmit={submit}>
        <input name="text" aria-label="Text" required maxLength={1000} autoComplete="off" />
        <button type="submit">Send</button>
      </form>
    </section>
  );
}
