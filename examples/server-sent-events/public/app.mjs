// Shows the score from the server: EventSource connects, and reconnects by itself when the connection is lost.
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
    // EventSource gives up if the answer is not an event stream, but for instance an error of a proxy.
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
