// The score, as the server tells it: EventSource connects, and comes back by itself when the connection was lost.
const state = document.querySelector('#state');

function listen() {
  const source = new EventSource('/events');
  source.onopen = () => {
    state.textContent = 'Connected';
  };
  source.onmessage = ({ data }) => {
    for (const [team, goals] of Object.entries(JSON.parse(data))) document.getElementById(team).textContent = goals;
  };
  source.onerror = () => {
    state.textContent = 'Not connected, trying again';
    // It gives up where the answer is no event stream, but an error of a proxy for instance.
    if (source.readyState === EventSource.CLOSED) setTimeout(listen, 3000);
  };
}

for (const button of document.querySelectorAll('button')) {
  button.onclick = () => {
    const headers = { 'content-type': 'application/json' };
    fetch('/goals', { method: 'POST', headers, body: JSON.stringify({ team: button.dataset.team }) });
  };
}

listen();
