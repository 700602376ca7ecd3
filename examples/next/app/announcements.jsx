'use client';
import { useEffect, useState } from 'react';

/** @param {{ initial: string[] }} props what there was when the page was made */
export function Announcements({ initial }) {
  const [list, setList] = useState(initial);
  const [status, setStatus] = useState('connecting');

  useEffect(() => connect(setList, setStatus), []);

  /** @param {import('react').FormEvent<HTMLFormElement>} event */
  async function submit(event) {
    event.preventDefault();
    const form = event.currentTarget;
    const answer = await fetch('/api/announcements', { method: 'POST', body: new FormData(form) });
    if (answer.ok) form.reset();
  }

  return (
    <>
      <p role="status">{status}</p>
      <ul aria-label="Messages">
        {list.map((text, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the whole list comes each time, and texts may be equal
          <li key={index}>{text}</li>
        ))}
      </ul>
      <form onSubmit={submit}>
        <input name="text" aria-label="Text" required maxLength={1000} autoComplete="off" />
        <button type="submit">Send</button>
      </form>
    </>
  );
}

/**
 * A socket that reconnects: each random wait is up to twice as long as the last. A server that stops says itself how
 * long to wait.
 *
 * @param {(list: string[]) => void} setList
 * @param {(status: string) => void} setStatus
 * @returns {() => void} ends it
 */
function connect(setList, setStatus) {
  let failures = 0;
  /** @type {WebSocket} */
  let socket;
  /** @type {ReturnType<typeof setTimeout>} */
  let timer;

  function open() {
    setStatus('connecting');
    socket = new WebSocket(`${location.origin.replace(/^http/, 'ws')}/socket`);
    socket.onmessage = ({ data }) => {
      failures = 0;
      setStatus('open');
      setList(JSON.parse(data));
    };
    socket.onclose = ({ reason }) => {
      setStatus('waiting');
      failures += 1;
      const [, asked] = /^retry=(\d{1,9})$/.exec(reason) ?? [];
      const wait = Math.min(30_000, 250 * 2 ** failures) * (0.5 + Math.random() / 2);
      timer = setTimeout(open, Number(asked ?? wait));
    };
  }

  open();
  return () => {
    clearTimeout(timer);
    socket.onclose = null;
    socket.close();
  };
}
