import { type FormEvent, useState } from 'react';
import {
  addMember,
  changeMember,
  listMembers,
  type Member,
  removeMember,
} from '../../api/installation';
import { useRead } from '../../api/useread';
import { Button } from '../../ui/button';
import { Confirm } from '../../ui/confirm';
import { Choice, Field } from '../../ui/field';
import { Skeleton } from '../../ui/small';
import { toastError } from '../../ui/toast';
import { ReadTrouble } from '../../ui/trouble';
import { Row, Rows, Section } from './parts';

type Rank = Member['role'];

const ranks: readonly [Rank, string][] = [
  ['viewer', 'may read'],
  ['member', 'may work'],
  ['owner', 'may administer'],
];

const RankOptions = () =>
  ranks.map(([rank, word]) => (
    <option key={rank} value={rank}>
      {rank}: {word}
    </option>
  ));

/** Who may come in, and what they may do. Owners change it. */
export function Members({ owner, self }: { owner: boolean; self: string }) {
  const { value, error, again } = useRead('members', (signal) => listMembers({ signal }));
  const [leaving, setLeaving] = useState<Member>();
  return (
    <Section title="Members" lead="People of this tenant. They log in with their own account.">
      {owner && <AddForm onAdded={again} />}
      {error !== undefined && <ReadTrouble error={error} again={again} />}
      {!value && error === undefined && <Skeleton className="h-24" />}
      {value && (
        <Rows label="Members">
          {value.items.map((member) => (
            <Row key={member.id}>
              <span className="min-w-40 flex-1">
                <span className="font-medium">{member.name || member.email}</span>
                <span className="block text-fg-3 text-xs">
                  {member.email} {member.joined_at ? '' : '· has not logged in yet'}
                </span>
              </span>
              {owner && member.id !== self ? (
                <>
                  <Choice
                    label={`What ${member.email} may do`}
                    quiet
                    value={member.role}
                    onChange={(event) =>
                      void changeMember(member.id, event.target.value as Rank).then(
                        again,
                        toastError,
                      )
                    }
                  >
                    <RankOptions />
                  </Choice>
                  <Button
                    size="small"
                    look="danger"
                    aria-label={`Remove ${member.email}…`}
                    onClick={() => setLeaving(member)}
                  >
                    Remove…
                  </Button>
                </>
              ) : (
                <span className="text-fg-2">{member.role}</span>
              )}
            </Row>
          ))}
        </Rows>
      )}
      {leaving && (
        <Confirm
          title={`Remove ${leaving.email}?`}
          act="Remove"
          onClose={() => setLeaving(undefined)}
          onAct={async () => {
            await removeMember(leaving.id);
            again();
          }}
        >
          They and their keys are shut out at once. Their conversations stay.
        </Confirm>
      )}
    </Section>
  );
}

function AddForm({ onAdded }: { onAdded: () => void }) {
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<Rank>('member');
  const [busy, setBusy] = useState(false);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    try {
      await addMember({ email: email.trim(), role });
      setEmail('');
      onAdded();
    } catch (error) {
      toastError(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <form onSubmit={(event) => void submit(event)} className="mb-3 flex flex-wrap items-end gap-3">
      <Field
        label="E-mail"
        type="email"
        required
        value={email}
        onChange={(event) => setEmail(event.target.value)}
        className="min-w-48 flex-1"
      />
      <Choice label="As" value={role} onChange={(event) => setRole(event.target.value as Rank)}>
        <RankOptions />
      </Choice>
      <Button type="submit" look="primary" disabled={!email.trim() || busy}>
        Add
      </Button>
    </form>
  );
}
