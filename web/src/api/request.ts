import { arrived, credentials, leave } from './credential';
import { ProblemError, problemOf, transient, UnreachableError } from './problem';
import { hearTime } from './servertime';

type Values = Record<string, string | number | boolean | undefined>;

interface Options {
  method?: 'GET' | 'POST' | 'DELETE' | 'PUT' | 'PATCH';
  query?: Values | undefined;
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
  /** Fails when the server does not know us, instead of waiting until it does. */
  probe?: boolean;
}

const listeners = new Set<() => void>();

/** Tells when the server no longer knows who we are. */
export function onUnauthorised(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Says that a credential was refused. The stream's reader does so too. */
export function unauthorised(): void {
  leave();
  for (const listener of listeners) listener();
}

/** Sends one request. One that the server refuses because it does not know us was not carried out: it is sent again when
 * the person has signed in. */
export async function send<T>(path: string, options: Options = {}): Promise<T> {
  for (;;) {
    try {
      return await sendOnce<T>(path, options);
    } catch (error) {
      if (!(error instanceof ProblemError) || error.status !== 401 || options.probe) throw error;
      await arrived();
    }
  }
}

async function sendOnce<T>(path: string, options: Options): Promise<T> {
  const { method = 'GET', query, body, headers, signal } = options;
  const init: RequestInit = {
    method,
    headers: {
      ...credentials(),
      ...headers,
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    },
    credentials: 'same-origin',
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal ? { signal } : {}),
  };
  let answer: Response;
  try {
    answer = await fetch(path + asQuery(query), init);
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new UnreachableError(error);
  }
  hearTime(answer);
  if (answer.ok) return (answer.status === 204 ? undefined : await answer.json()) as T;
  const problem = await problemOf(answer);
  if (problem.status === 401) unauthorised();
  throw problem;
}

/** How long a command that the server cannot take is tried again before the person is asked. */
const patience = 60_000;

/**
 * Sends a command until it is known what became of it. The key is made once, so that however often it is sent it is
 * carried out once.
 */
export async function command<T>(
  path: string,
  options: Omit<Options, 'headers'> & { key?: string } = {},
): Promise<T> {
  const { key = newKey(), ...rest } = options;
  let end = Date.now() + patience;
  for (let attempt = 0; ; attempt++) {
    try {
      return await send<T>(path, { method: 'POST', ...rest, headers: { 'Idempotency-Key': key } });
    } catch (error) {
      const wait = pause(attempt, error);
      // A server that is away has not refused: the page says that it is, and goes on by itself when it is back.
      if (error instanceof UnreachableError) end = Date.now() + patience;
      if (!transient(error) || Date.now() + wait > end) throw error;
      await sleep(wait, rest.signal);
    }
  }
}

/** A key for a command that is new. Who retries by hand keeps it. */
export function newKey(): string {
  return crypto.randomUUID();
}

/** How long to wait before the next attempt: as long as the server says, else longer each time, not all at once. */
export function pause(attempt: number, error?: unknown): number {
  if (error instanceof ProblemError && error.retryAfter) return error.retryAfter;
  return Math.min(15_000, 500 * 2 ** Math.min(attempt, 6)) * (0.5 + Math.random() / 2);
}

export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener('abort', () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}

function asQuery(query: Values | undefined): string {
  const given = Object.entries(query ?? {}).filter(([, value]) => value !== undefined);
  if (given.length === 0) return '';
  return `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`;
}
