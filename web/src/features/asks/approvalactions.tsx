import { ChevronDown, Pencil } from 'lucide-react';
import { Fragment, type RefObject, useLayoutEffect } from 'react';
import { ActionKeys } from '../../shell/keys/keycap';
import { Button } from '../../ui/button';
import { Exact } from '../../ui/exact';
import { MenuButton } from '../../ui/menubutton';
import type { KeyActions } from './keys';
import { Decide } from './parts';

type Scope = 'once' | 'task' | 'conversation';

/** The ways to decide. None has the focus by itself. */
export function Actions({
  ready,
  sending,
  known,
  covers,
  keys,
  onAllow,
  onEdit,
  onDeny,
}: {
  ready: boolean;
  sending: boolean;
  /** Whether the page knows what would be done. */
  known: boolean;
  /** What an approval may cover beside this call. */
  covers: readonly string[];
  keys: RefObject<KeyActions>;
  onAllow: (scope: Scope) => void;
  onEdit: (() => void) | undefined;
  onDeny: () => void;
}) {
  const always = covers.length > 0;
  // With the buttons, not after them: a person who sees that they count may press a key.
  useLayoutEffect(() => {
    keys.current = {
      d: onDeny,
      ...(ready && known ? { a: () => onAllow('once') } : {}),
      ...(ready && known && always ? { s: () => onAllow('task') } : {}),
      ...(onEdit ? { e: onEdit } : {}),
    };
  });
  return (
    <>
      <div className="flex flex-wrap items-center gap-2">
        {known && (
          <Decide
            look="primary"
            ready={ready}
            onClick={() => onAllow('once')}
            className="max-sm:h-11 max-sm:flex-1"
          >
            {sending ? 'Sending…' : 'Allow once'} <ActionKeys action="ask.allow" />
          </Decide>
        )}
        {known && always && <Always ready={ready} covers={covers} onAllow={onAllow} />}
        {onEdit && (
          <Button look="ghost" onClick={onEdit} className="max-sm:order-4 max-sm:h-11">
            <Pencil className="size-3.5" aria-hidden="true" />
            Edit… <ActionKeys action="ask.edit" />
          </Button>
        )}
        <span className="flex-1 max-sm:hidden" />
        <Button
          look="danger"
          onClick={onDeny}
          disabled={sending}
          className="max-sm:-order-1 max-sm:h-11 max-sm:flex-1"
        >
          Deny… <ActionKeys action="ask.deny" />
        </Button>
      </div>
      {known && always && <Covers covers={covers} />}
    </>
  );
}

function Always({
  ready,
  covers,
  onAllow,
}: {
  ready: boolean;
  covers: readonly string[];
  onAllow: (scope: Scope) => void;
}) {
  return (
    <span className="inline-flex max-sm:order-3 max-sm:w-full">
      <Decide
        ready={ready}
        onClick={() => onAllow('task')}
        className="rounded-r-none border-r-0 max-sm:h-11 max-sm:flex-1"
      >
        Always for this task <ActionKeys action="ask.always" />
      </Decide>
      <MenuButton
        button={
          <Button
            disabled={!ready}
            aria-label="More ways to allow"
            className="rounded-l-none px-2 max-sm:h-11 max-sm:w-11"
          >
            <ChevronDown className="size-3.5" aria-hidden="true" />
          </Button>
        }
        items={(['task', 'conversation'] as const).map((scope) => ({
          name: scope,
          content: (
            <>
              Always for this {scope}: <Patterns covers={covers} />
            </>
          ),
          onSelect: () => onAllow(scope),
        }))}
      />
    </span>
  );
}

/** What "always" covers, and until when: all of it, in the words by which it is matched. */
function Covers({ covers }: { covers: readonly string[] }) {
  return (
    <p className="mt-2 text-fg-3 text-xs">
      “Always” covers <Patterns covers={covers} />: for this task until it ends, for this
      conversation until you archive it.
    </p>
  );
}

function Patterns({ covers }: { covers: readonly string[] }) {
  return covers.map((each, index) => (
    <Fragment key={each}>
      {index > 0 && ' and '}
      <code className="wrap-anywhere whitespace-pre-wrap font-mono text-2xs text-fg-2">
        <Exact text={each} />
      </code>
    </Fragment>
  ));
}
