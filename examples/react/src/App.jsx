// @ts-check
import { useState } from 'react';
import { useChannel, useStatus } from './useChannel.mjs';

const ROOMS = ['lobby', 'music', 'games'];

export function App() {
  const [room, setRoom] = useState(/** @type {string | undefined} */ ('lobby'));
  const status = useStatus();
  return (
    <>
      <nav>
        {ROOMS.map((name) => (
          <button key={name} type="button" aria-pressed={name === room} onClick={() => setRoom(name)}>
            {name}
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
    // keep the text if it could not be sent
    if (publish(new FormData(form).get('text'))) form.reset();
  }

  return (
    <section>
      <h1>{channel}</h1>
      <ul aria-label="Messages">
        {messages.map(({ id, data }) => (
          <li key={id}>{data}</li>
        ))}
      </ul>
      <form onSubmit={submit}>
        <input name="text" aria-label="Text" required maxLength={1000} autoComplete="off" />
        <button type="submit">Send</button>
      </form>
    </section>
  );
}
