// @ts-check
/** A tab: shows what the SharedWorker tells, and passes on what the user writes. It has no connection of its own. */
const { port } = new SharedWorker('/tabs.mjs', { type: 'module', name: 'channels' });
const [status, tabs, list, form] = ['[role=status]', 'output', 'ul', 'form'].map((name) => {
  return /** @type {any} */ (document.querySelector(name));
});

port.onmessage = ({ data }) => {
  if (data.status !== undefined) status.textContent = data.status;
  if (data.tabs !== undefined) tabs.value = data.tabs;
  if (data.notes !== undefined) show(data.notes);
  if (data.error !== undefined) status.textContent = data.error;
};

// The browser frees the lock when the tab is gone, however it goes.
const lock = Math.random().toString(36).slice(2);
navigator.locks.request(lock, () => {
  port.postMessage({ lock });
  return new Promise(() => {});
});

/** @param {Map<number, unknown>} notes */
function show(notes) {
  const items = [...notes]
    .sort(([one], [other]) => one - other)
    .map(([, text]) => {
      const item = document.createElement('li');
      item.textContent = String(text);
      return item;
    });
  list.replaceChildren(...items);
}

form.addEventListener('submit', (/** @type {SubmitEvent} */ event) => {
  event.preventDefault();
  port.postMessage({ text: form.elements.text.value });
  form.reset();
});
