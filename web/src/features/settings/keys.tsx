import { Copy } from 'lucide-react';
import { type FormEvent, useState } from 'react';
import {
  type ApiKey,
  createKey,
  listKeys,
  type NewApiKey,
  revokeKey,
} from '../../api/installation';
import { useRead } from '../../api/useread';
import { announce } from '../../ui/announcer';
import { Button } from '../../ui/button';
import { useNow } from '../../ui/clock';
import { Confirm } from '../../ui/confirm';
import { Dialog } from '../../ui/dialog';
import { Choice, Field } from '../../ui/field';
import { ago } from '../../ui/format';
import { Badge, EmptyState, Skeleton } from '../../ui/small';
import { toastError } from '../../ui/toast';
import { ReadTrouble } from '../../ui/trouble';
import { Row, Rows, Section } from './parts';

const scopes = {
  read: ['read'],
  write: ['read', 'write'],
  admin: ['read', 'write', 'admin'],
} as const;

/** Keys with which programs come in. A secret is shown once, when it is made. */
export function Keys() {
  const { value, error, again } = useRead('keys', (signal) => listKeys({ signal }));
  const [fresh, setFresh] = useState<NewApiKey>();
  const [leaving, setLeaving] = useState<ApiKey>();
  return (
    <Section title="API keys" lead="For programs. A key can do no more than its owner can.">
      <NewKeyForm
        onMade={(key) => {
          setFresh(key);
          again();
        }}
      />
      {error !== undefined && <ReadTrouble error={error} again={again} />}
      {!value && error === undefined && <Skeleton className="h-24" />}
      {value?.items.length === 0 && <EmptyState title="No keys yet" />}
      {value && value.items.length > 0 && (
        <Rows label="API keys">
          {value.items.map((key) => (
            <KeyRow key={key.id} apiKey={key} onRevoke={() => setLeaving(key)} />
          ))}
        </Rows>
      )}
      {fresh && <Secret made={fresh} onClose={() => setFresh(undefined)} />}
      {leaving && (
        <Confirm
          title={`Revoke “${leaving.name}”?`}
          act="Revoke"
          onClose={() => setLeaving(undefined)}
          onAct={async () => {
            await revokeKey(leaving.id);
            announce('The key was revoked.');
            again();
          }}
        >
          Programs that use it are shut out at once. It cannot be undone.
        </Confirm>
      )}
    </Section>
  );
}

function KeyRow({ apiKey, onRevoke }: { apiKey: ApiKey; onRevoke: () => void }) {
  const now = useNow();
  const gone = apiKey.revoked_at !== undefined;
  const expired = Date.parse(apiKey.expires_at) < now;
  return (
    <Row>
      <span className="min-w-40 flex-1">
        <span className={gone || expired ? 'text-fg-3' : 'font-medium'}>{apiKey.name}</span>
        <span className="block text-fg-3 text-xs">
          {apiKey.owner} · {apiKey.scopes.join(', ')} ·{' '}
          {apiKey.used_at ? `used ${ago(apiKey.used_at, now)}` : 'never used'}
        </span>
      </span>
      {gone && <Badge>Revoked</Badge>}
      {!gone && (
        <span className="text-fg-2 text-xs">
          {expired ? 'Expired' : 'Until'} {new Date(apiKey.expires_at).toLocaleDateString()}
        </span>
      )}
      {!gone && (
        <Button size="small" look="danger" aria-label={`Revoke ${apiKey.name}…`} onClick={onRevoke}>
          Revoke…
        </Button>
      )}
    </Row>
  );
}

function NewKeyForm({ onMade }: { onMade: (key: NewApiKey) => void }) {
  const [name, setName] = useState('');
  const [may, setMay] = useState<keyof typeof scopes>('write');
  const [days, setDays] = useState('90');
  const [busy, setBusy] = useState(false);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    try {
      onMade(await createKey({ name: name.trim(), scopes: [...scopes[may]], days: Number(days) }));
      setName('');
    } catch (error) {
      toastError(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <form onSubmit={(event) => void submit(event)} className="mb-3 flex flex-wrap items-end gap-3">
      <Field
        label="Name"
        value={name}
        onChange={(event) => setName(event.target.value)}
        className="min-w-40 flex-1"
      />
      <Choice
        label="May"
        value={may}
        onChange={(event) => setMay(event.target.value as keyof typeof scopes)}
      >
        <option value="read">read</option>
        <option value="write">read and write</option>
        <option value="admin">administer too</option>
      </Choice>
      <Choice label="Lasts" value={days} onChange={(event) => setDays(event.target.value)}>
        {['7', '30', '90', '365'].map((count) => (
          <option key={count} value={count}>
            {count} days
          </option>
        ))}
      </Choice>
      <Button type="submit" look="primary" disabled={!name.trim() || busy}>
        Make a key
      </Button>
    </form>
  );
}

function Secret({ made, onClose }: { made: NewApiKey; onClose: () => void }) {
  return (
    <Dialog title={`The key “${made.name}”`} open onClose={onClose}>
      <div className="p-4 text-sm">
        <p>Copy it now. It is never shown again.</p>
        <output className="mt-3 block select-all break-all rounded-md border bg-sunken p-3 font-mono text-xs">
          {made.secret}
        </output>
        <div className="mt-4 flex justify-end gap-2">
          <Button
            onClick={() =>
              void navigator.clipboard
                .writeText(made.secret)
                .then(() => announce('Copied'), toastError)
            }
          >
            <Copy className="size-4" aria-hidden="true" />
            Copy
          </Button>
          <Button look="primary" onClick={onClose}>
            I have it
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
