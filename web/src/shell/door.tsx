import { type FormEvent, type ReactNode, useCallback, useEffect, useState } from 'react';
import { arrive, codeOf, onProof, redeem } from '../api/credential';
import { probeMe } from '../api/reads';
import { onUnauthorised } from '../api/request';
import { Button } from '../ui/button';
import { Mark } from './mark';

/**
 * Lets in who the server knows. Others are told how to get in: by a link on a local installation, else by logging in.
 * Behind the door everything stays as it was, and goes on when the person is back.
 */
export function Door({ children }: { children: ReactNode }) {
  const [shut, setShut] = useState(false);
  const open = useCallback(async () => {
    // A server that cannot be reached is no reason to shut: the banner says so.
    await probeMe();
    arrive();
    setShut(false);
  }, []);
  useEffect(() => {
    const off = onUnauthorised(() => setShut(true));
    const heard = onProof(() => void open().catch(() => undefined));
    void open().catch(() => undefined);
    return () => {
      off();
      heard();
    };
  }, [open]);
  return (
    <>
      {shut && <Login onOpen={open} />}
      <div className={shut ? 'hidden' : 'contents'}>{children}</div>
    </>
  );
}

function Login({ onOpen }: { onOpen: () => Promise<void> }) {
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
      <h1 className="font-semibold text-xl">Sign in</h1>
      {hosted === true && (
        <>
          <p className="text-fg-2 text-md">Your session has ended, or there was none.</p>
          <a
            href={`/login?next=${next}`}
            className="inline-flex h-9 items-center self-start rounded-md bg-ink px-4 font-medium text-on-ink text-sm"
          >
            Log in
          </a>
        </>
      )}
      {hosted === false && <LinkForm onOpen={onOpen} />}
    </main>
  );
}

function LinkForm({ onOpen }: { onOpen: () => Promise<void> }) {
  const [link, setLink] = useState('');
  const [wrong, setWrong] = useState(false);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const code = codeOf(link.trim()) || link.trim();
    const good = await redeem(code).catch(() => false);
    setWrong(!good);
    if (good) await onOpen().catch(() => undefined);
  };
  return (
    <form onSubmit={(event) => void submit(event)} className="flex flex-col gap-3">
      <p className="text-fg-2 text-md">
        The server was started again, or this browser is new to it. Open the link that{' '}
        <code className="code">retinue up</code> printed. A link works once;{' '}
        <code className="code">retinue link</code> prints a new one.
      </p>
      <label className="flex flex-col gap-1 text-sm">
        Link
        <input
          type="password"
          autoComplete="off"
          value={link}
          onChange={(event) => setLink(event.target.value)}
          aria-invalid={wrong}
          className="h-9 rounded-md border border-line-control bg-surface px-3"
        />
      </label>
      {wrong && (
        <p className="text-sm">
          This link was used before, or the server was started again since. Run{' '}
          <code className="code">retinue link</code> and paste what it prints.
        </p>
      )}
      <Button type="submit" look="primary" disabled={!link.trim()} className="self-start">
        Sign in
      </Button>
    </form>
  );
}
