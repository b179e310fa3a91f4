// Who we are to the server. A local installation has one token, which comes in the fragment of the address that
// `retinue up` prints and never leaves the browser in an address again. A hosted server has a session's cookie, which
// scripts cannot see.

const place = 'retinue.token';

let token: string | undefined;

/** Takes the token out of the address, at once and before anything else runs. */
export function takeToken(): void {
  const given = new URLSearchParams(location.hash.slice(1)).get('token');
  if (given) {
    history.replaceState(history.state, '', location.pathname + location.search);
    keep(given);
    return;
  }
  token = read();
}

/** The headers that say who asks. A cookie goes by itself; the other header shows that our own page sent it. */
export function credentials(): Record<string, string> {
  const own = { 'Retinue-Request': '1' };
  return token ? { ...own, Authorization: `Bearer ${token}` } : own;
}

/** Whether this browser has the token of a local installation. */
export function hasToken(): boolean {
  return token !== undefined;
}

/** Keeps a token that a person typed, for this tab and the next ones. */
export function keep(given: string): void {
  token = given;
  try {
    localStorage.setItem(place, given);
  } catch {
    // Storage is switched off: the token lasts as long as the tab.
  }
}

/** Forgets the token, since the server did not know it. */
export function forget(): void {
  token = undefined;
  try {
    localStorage.removeItem(place);
  } catch {
    // There was none.
  }
}

function read(): string | undefined {
  try {
    return localStorage.getItem(place) ?? undefined;
  } catch {
    return undefined;
  }
}
