import { type FormEvent, type ReactNode, useEffect, useState } from 'react';
import { hasToken, keep } from '../api/credential';
import { ProblemError } from '../api/problem';
import { getMe } from '../api/reads';
import { onUnauthorised } from '../api/request';
import { Button } from '../ui/button';
import { Mark } from './mark';

/** Lets in who the server knows. Others are told how to get in: with the local token, or by logging in. */
export function Door({ children }: { children: ReactNode }) {
  const [shut, setShut] = useState(false);
  useEffect(() => {
    const off = onUnauthorised(() => setShut(true));
    // A server that cannot be reached is no reason to shut: the banner says so.
    void getMe().catch(() => undefined);
    return off;
  }, []);
  if (!shut) return children;
  return <Login onOpen={() => setShut(false)} />;
}

function Login({ onOpen }: { onOpen: () => void }) {
  const [hosted, setHosted] = useState<boolean>();
  useEffect(() => {
    void fetch('/login', { redirect: 'manual' })
      .then((answer) => setHosted(answer.type === 'opaqueredirect'))
      .catch(() => setHosted(false));
  }, []);
  const next = encodeURIComponent(location.pathname + location.search);
  return (
    <main className="mx-auto flex h-full max-w-md flex-col justify-center gap-4 px-6">
      <Mark />
      <h1 className="font-semibold text-xl">Who are you?</h1>
      {hosted === true && (
        <>
          <p className="text-fg-2 text-md">Your session is over, or there was none.</p>
          <a
            href={`/login?next=${next}`}
            className="inline-flex h-9 items-center self-start rounded-md bg-ink px-4 font-medium text-on-ink text-sm"
          >
            Log in
          </a>
        </>
      )}
      {hosted === false && <TokenForm onOpen={onOpen} />}
    </main>
  );
}

function TokenForm({ onOpen }: { onOpen: () => void }) {
  const [token, setToken] = useState('');
  const [wrong, setWrong] = useState(false);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    keep(token.trim());
    try {
      await getMe();
      onOpen();
    } catch (error) {
      setWrong(error instanceof ProblemError && !hasToken());
    }
  };
  return (
    <form onSubmit={(event) => void submit(event)} className="flex flex-col gap-3">
      <p className="text-fg-2 text-md">
        Open the address that <code className="code">retinue up</code> printed, or paste the token
        that ends it.
      </p>
      <label className="flex flex-col gap-1 text-sm">
        Token
        <input
          type="password"
          autoComplete="off"
          value={token}
          onChange={(event) => setToken(event.target.value)}
          aria-invalid={wrong}
          className="h-9 rounded-md border border-line-control bg-surface px-3"
        />
      </label>
      {wrong && <p className="text-sm">The server does not know this token.</p>}
      <Button type="submit" look="primary" disabled={!token.trim()} className="self-start">
        Come in
      </Button>
    </form>
  );
}
