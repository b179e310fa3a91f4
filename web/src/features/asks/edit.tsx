import { type RefObject, useEffect, useId, useState } from 'react';
import { ActionKeys } from '../../shell/keys/keycap';
import { Button } from '../../ui/button';
import { type Field, fieldsOf, readFields } from './editargs';
import { type KeyActions, SUBMIT } from './keys';
import { Decide } from './parts';

/** Other arguments than those that the agent gave. Each value keeps its type; the server checks them as it does the agent's. */
export function EditArgs({
  args,
  ready,
  keys,
  onBack,
  onChange,
  onAllow,
}: {
  args: Record<string, unknown>;
  ready: boolean;
  keys: RefObject<KeyActions>;
  onBack: () => void;
  /** Something was changed since it was last sent. */
  onChange: () => void;
  onAllow: (edited: { args: Record<string, unknown> }) => void;
}) {
  const [fields, setFields] = useState(() => fieldsOf(args));
  const edited = readFields(fields);
  const wrong = Object.keys(edited.problems).length > 0;
  const may = ready && edited.changed && !wrong;
  const allow = () => onAllow({ args: edited.args });
  useEffect(() => {
    keys.current = may ? { [SUBMIT]: allow } : {};
  });
  const set = (name: string, text: string) => {
    onChange();
    setFields((all) => all.map((field) => (field.name === name ? { ...field, text } : field)));
  };
  return (
    <div className="space-y-2">
      <div className="-mx-1 max-h-[30vh] space-y-2 overflow-y-auto px-1 pb-1">
        {fields.map((field) => (
          <Row
            key={field.name}
            field={field}
            problem={edited.problems[field.name]}
            onChange={set}
          />
        ))}
      </div>
      <div className="flex flex-wrap gap-2">
        <Decide look="primary" ready={may} onClick={allow} className="max-sm:h-11 max-sm:flex-1">
          Allow once with these changes <ActionKeys action="ask.submit" />
        </Decide>
        <Button look="ghost" onClick={onBack} className="max-sm:h-11">
          Back
        </Button>
      </div>
    </div>
  );
}

const words = { text: 'text', number: 'number', switch: 'yes or no', json: 'JSON' } as const;

function Row({
  field,
  problem,
  onChange,
}: {
  field: Field;
  problem: string | undefined;
  onChange: (name: string, text: string) => void;
}) {
  const id = useId();
  const shared = {
    id,
    'aria-invalid': problem !== undefined,
    'aria-describedby': problem ? `${id}-problem` : undefined,
    className:
      'field-sizing-content block max-h-60 w-full resize-y rounded-md border border-line-control bg-surface px-2 py-1.5 font-mono text-xs',
  };
  return (
    <div>
      <label htmlFor={id} className="text-fg-2 text-xs">
        {field.name} <span className="text-2xs text-fg-3">{words[field.kind]}</span>
      </label>
      {field.kind === 'switch' ? (
        <input
          id={id}
          type="checkbox"
          checked={field.text === 'true'}
          onChange={(event) => onChange(field.name, String(event.target.checked))}
          className="ml-2 size-4 align-middle"
        />
      ) : field.kind === 'number' ? (
        <input
          {...shared}
          inputMode="decimal"
          value={field.text}
          onChange={(event) => onChange(field.name, event.target.value)}
        />
      ) : (
        <textarea
          {...shared}
          rows={1}
          spellCheck={false}
          value={field.text}
          onChange={(event) => onChange(field.name, event.target.value)}
        />
      )}
      {problem && (
        <p id={`${id}-problem`} data-s="failed" className="st st-fg text-xs">
          {problem}
        </p>
      )}
    </div>
  );
}
