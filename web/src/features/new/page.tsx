import { Link, useNavigate } from '@tanstack/react-router';
import { CircleCheck, CircleDashed, Lock } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { createConversation } from '../../api/commands';
import { getSettings, listFiles, type Settings } from '../../api/installation';
import { listRoles } from '../../api/reads';
import { useRead } from '../../api/useread';
import { ActionKeys } from '../../shell/keys/keycap';
import { useList } from '../../store/hooks';
import { useLink } from '../../transport/status';
import { RoleTile } from '../../ui/role';
import { MessageForm } from '../chat/composer';
import { setDraft } from '../chat/draft';
import { ideasFor } from './ideas';
import { isSetUp, setupSteps } from './setup';

const DRAFT = 'new';

/** A new conversation: one text, and it begins. */
export function NewPage() {
  const navigate = useNavigate();
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    heading.current?.focus({ preventScroll: true });
    document.title = 'New conversation · Retinue';
  }, []);
  const settings = useRead('settings', (signal) => getSettings({ signal })).value;
  const [isPrivate, setPrivate] = useState(false);
  return (
    <div data-region="conversation" className="flex min-h-0 flex-1 flex-col overflow-y-auto">
      <div className="m-auto w-full max-w-[680px] px-4 py-10 max-lg:pt-14">
        <Tiles />
        <h1
          ref={heading}
          tabIndex={-1}
          className="mt-4 text-balance font-semibold text-[26px] leading-8 tracking-tight outline-none"
        >
          What should your agents work on?
        </h1>
        <p className="mt-1 text-fg-2 text-prose">
          You talk to one orchestrator. It splits the work, runs the parts side by side and asks you
          only when it has to.
        </p>
        <div className="mt-5">
          <MessageForm
            label="Describe the outcome you want"
            placeholder="Describe the outcome you want…"
            rows={2}
            draft={DRAFT}
            actions={
              <>
                {settings?.mode === 'hosted' && (
                  <label className="mr-2 flex items-center gap-1.5 text-fg-2 text-xs pointer-coarse:min-h-11">
                    <input
                      type="checkbox"
                      checked={isPrivate}
                      onChange={(e) => setPrivate(e.target.checked)}
                    />
                    <Lock className="size-3" aria-hidden="true" />
                    Only I can see it
                  </label>
                )}
                <span className="mr-2 hidden items-center gap-1 text-xs lg:flex">
                  <ActionKeys action="palette.open" /> commands
                </span>
              </>
            }
            onSend={async (message, key) => {
              const { id } = await createConversation(
                {
                  message,
                  title: titleOf(message),
                  visibility: isPrivate ? 'private' : 'tenant',
                },
                key,
              );
              await navigate({ to: '/c/$id', params: { id } });
            }}
          />
        </div>
        <Ideas mode={settings?.mode} />
        <Setup settings={settings} />
      </div>
    </div>
  );
}

/** Who is there to do it. */
function Tiles() {
  const roles = useRead('roles', (signal) => listRoles({}, { signal })).value?.items ?? [];
  return (
    <div className="flex h-8 gap-1.5" aria-hidden="true">
      {roles.slice(0, 9).map((role) => (
        <RoleTile key={role.name} roleId={role.name} size="large" />
      ))}
    </div>
  );
}

/** An idea is written into the composer, for the person to change and send. */
function Ideas({ mode }: { mode: Settings['mode'] | undefined }) {
  return (
    <ul aria-label="Ideas" className="mt-3 min-h-[116px] space-y-1">
      {mode !== undefined &&
        ideasFor(mode).map((idea) => (
          <li key={idea}>
            <button
              type="button"
              onClick={() => {
                setDraft(DRAFT, idea);
                document.querySelector<HTMLElement>('textarea[data-composer]')?.focus();
              }}
              className="w-full rounded-md px-3 py-2 text-left text-fg-2 text-sm hover:bg-hover hover:text-fg pointer-coarse:min-h-11"
            >
              {idea}
            </button>
          </li>
        ))}
    </ul>
  );
}

/** What is left to set up. It goes away by itself. */
function Setup({ settings }: { settings: Settings | undefined }) {
  const { state } = useLink();
  const ready = useList((list) => list.ready);
  const conversations = useList((list) => list.conversations.all().length);
  const files = useRead('files', (signal) => listFiles({ q: '' }, { signal })).value;
  if (!ready || !settings || !files) return null;
  const steps = setupSteps({ live: state === 'live', settings, files, conversations });
  if (isSetUp(steps)) return null;
  const done = steps.filter((step) => step.done).length;
  return (
    <section aria-labelledby="setup" className="mt-8 rounded-lg border bg-surface">
      <h2 id="setup" className="border-b px-4 py-2 font-medium text-sm">
        Finish setting up{' '}
        <span className="font-normal text-fg-3">
          {done} of {steps.length}
        </span>
      </h2>
      <ul className="divide-y divide-line">
        {steps.map((step) => (
          <li key={step.name} className="flex min-h-11 items-center gap-2.5 px-4 py-2 text-sm">
            <span data-s={step.done ? 'done' : 'quiet'} className="st st-fg">
              {step.done ? (
                <CircleCheck className="size-4" aria-hidden="true" />
              ) : (
                <CircleDashed className="size-4" aria-hidden="true" />
              )}
            </span>
            <span className="min-w-0 flex-1">
              <span className={step.done ? 'text-fg-3' : ''}>{step.name}</span>
              <span className="sr-only">{step.done ? ', done' : ', to do'}</span>
              {!step.done && step.help && (
                <span className="block text-fg-2 text-xs">{step.help}</span>
              )}
            </span>
            {!step.done && step.part && (
              <Link
                to="/settings/$part"
                params={{ part: step.part }}
                className="inline-flex h-7 shrink-0 items-center rounded-md border border-line-strong bg-surface px-2.5 font-medium text-xs hover:bg-hover pointer-coarse:h-11"
              >
                Providers
              </Link>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** The first line, as far as the list has room for it. */
function titleOf(message: string): string {
  const line = message.split('\n')[0] ?? '';
  return line.length > 80 ? `${line.slice(0, 79)}…` : line;
}
