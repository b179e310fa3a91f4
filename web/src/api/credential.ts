// Who we are to the server. On a local installation a link lets a browser in once: the code behind it is exchanged for a
// cookie that scripts cannot see and a proof that only pages of this address can. A hosted server has the cookie of a
// session alone. Both end when the server says so, and everything that was under way waits until the person is back.

const place = 'retinue.proof';
/** Where a code is while it is exchanged: a page that is reloaded meanwhile exchanges it again. */
const underway = 'retinue.code';

let proof: string | undefined;
let away: { back: Promise<void>; end: () => void } | undefined;
const listeners = new Set<() => void>();

/** Gets in with the code in the address, if there is one. The code leaves the address before anything else runs. */
export async function enter(): Promise<void> {
  proof = read();
  addEventListener('storage', heardOfOther);
  const given = codeOf(location.hash);
  if (given) history.replaceState(history.state, '', location.pathname + location.search);
  const code = given || pending();
  if (!code) return;
  pending(code);
  // A link that was used before lets nobody in, but this browser may be in already.
  const answered = await redeem(code).then(
    () => true,
    () => false,
  );
  if (answered) pending('');
}

/** The code that is being exchanged; with an argument, changes it. */
function pending(code?: string): string {
  try {
    if (code) sessionStorage.setItem(underway, code);
    else if (code === '') sessionStorage.removeItem(underway);
    return sessionStorage.getItem(underway) ?? '';
  } catch {
    return ''; // Storage is switched off: a reload in the middle needs another link.
  }
}

/** Another tab of this browser got in. */
function heardOfOther(event: StorageEvent): void {
  if (event.key !== place || !event.newValue) return;
  proof = event.newValue;
  for (const listener of listeners) listener();
}

/** Tells when another tab got in, so that this one may try too. */
export function onProof(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The code of a link, empty if it has none. */
export function codeOf(text: string): string {
  const after = text.split('#').at(-1) ?? '';
  return new URLSearchParams(after).get('code') ?? '';
}

/** Exchanges a code, and says whether it was good. */
export async function redeem(code: string): Promise<boolean> {
  const answer = await fetch('/login/link', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    credentials: 'same-origin',
    body: JSON.stringify({ code }),
  });
  if (!answer.ok) return false;
  proof = ((await answer.json()) as { proof: string }).proof;
  try {
    localStorage.setItem(place, proof);
  } catch {
    // Storage is switched off: the proof lasts as long as the tab.
  }
  return true;
}

/** The header that says who asks. A cookie goes by itself; the header shows that our own page sent it. */
export function credentials(): Record<string, string> {
  return { 'Retinue-Request': proof ?? '1' };
}

/** Forgets the proof, since the server did not know it. What is under way waits. */
export function leave(): void {
  proof = undefined;
  try {
    localStorage.removeItem(place);
  } catch {
    // There was none.
  }
  if (away) return;
  let end = () => {};
  const back = new Promise<void>((resolve) => {
    end = resolve;
  });
  away = { back, end };
}

/** Says that the server knows us again: what waited goes on. */
export function arrive(): void {
  away?.end();
  away = undefined;
}

/** Waits until the server knows us, if it does not. */
export function arrived(): Promise<void> {
  return away?.back ?? Promise.resolve();
}

function read(): string | undefined {
  try {
    return localStorage.getItem(place) ?? undefined;
  } catch {
    return undefined;
  }
}
