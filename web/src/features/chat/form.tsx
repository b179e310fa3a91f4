import { ArrowUp, AtSign } from 'lucide-react';
import { type KeyboardEvent, type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { transient } from '../../api/problem';
import { newKey } from '../../api/request';
import { IconButton } from '../../ui/button';
import { toastError } from '../../ui/toast';
import { Choices } from './choices';
import { type Choice, complete, type Mention, mentionAt, useChoices } from './completion';
import { setDraft, useDraft } from './draft';

interface Props {
  label: string;
  placeholder: string;
  /** Sends what was written. The text stays until this is known to be done; again is the same command. */
  onSend: (text: string, key: string) => Promise<void>;
  rows?: number;
  /** Under which name what is being written is kept: that of the conversation. */
  draft?: string;
  workspace?: string;
  /** Beside the buttons. */
  hint?: ReactNode;
  actions?: ReactNode;
  /** What ↑ does while nothing is written. */
  onUp?: () => void;
}

/** A text and a button. It is never shut: Enter sends, Shift and Enter begin a line, @ mentions roles and files. */
export function MessageForm(props: Props) {
  const { label, placeholder, rows = 1, draft = 'new', workspace = '', hint, actions } = props;
  const text = useDraft(draft);
  const { send, sending } = useSending(draft, text, props.onSend);
  const field = useRef<HTMLTextAreaElement>(null);
  const [mention, setMention] = useState<Mention>();
  const [active, setActive] = useState(0);
  const choices = useChoices(mention?.query, workspace);
  const list = useId();
  const open = mention !== undefined && choices.length > 0;
  const at = Math.min(active, choices.length - 1);

  const pick = (choice: Choice) => {
    if (!mention) return;
    const [next, caret] = complete(text, mention, choice);
    setDraft(draft, next);
    setMention(undefined);
    requestAnimationFrame(() => field.current?.setSelectionRange(caret, caret));
  };
  const look = () => {
    const element = field.current;
    if (!element) return;
    const next = mentionAt(element.value, element.selectionStart);
    setMention((was) => (was?.query === next?.query && was?.start === next?.start ? was : next));
    setActive(0);
  };
  const onListKey = (event: KeyboardEvent): boolean => {
    if (!open) return false;
    if (event.key === 'ArrowDown') setActive((at + 1) % choices.length);
    else if (event.key === 'ArrowUp') setActive((at + choices.length - 1) % choices.length);
    else if (event.key === 'Escape') setMention(undefined);
    else if (event.key === 'Enter' || event.key === 'Tab') pick(choices[at] as Choice);
    else return false;
    event.preventDefault();
    event.stopPropagation();
    return true;
  };
  const onKeyDown = (event: KeyboardEvent) => {
    // While a word is being composed, Enter and the arrows belong to the input method. Safari says so by the code only.
    if (event.nativeEvent.isComposing || event.keyCode === 229 || onListKey(event)) return;
    if (event.key === 'ArrowUp' && text === '' && props.onUp) {
      event.preventDefault();
      props.onUp();
    }
    if (event.key !== 'Enter' || event.shiftKey) return;
    event.preventDefault();
    void send();
  };
  const insertAt = () => {
    const element = field.current;
    if (!element) return;
    const caret = element.selectionStart;
    const space = caret > 0 && !/\s/.test(text[caret - 1] ?? '') ? ' ' : '';
    setDraft(draft, `${text.slice(0, caret)}${space}@${text.slice(caret)}`);
    requestAnimationFrame(() => {
      element.focus();
      element.setSelectionRange(caret + space.length + 1, caret + space.length + 1);
      look();
    });
  };

  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
      className="relative rounded-xl border border-line-control bg-surface shadow-card focus-within:border-accent"
    >
      {open && <Choices id={list} choices={choices} active={at} onPick={pick} />}
      <textarea
        ref={field}
        data-composer
        data-region="composer"
        rows={rows}
        value={text}
        aria-label={label}
        aria-autocomplete="list"
        aria-haspopup="listbox"
        aria-controls={open ? list : undefined}
        aria-activedescendant={open ? `${list}-${at}` : undefined}
        placeholder={placeholder}
        onChange={(event) => {
          setDraft(draft, event.target.value);
          look();
        }}
        onSelect={look}
        onBlur={() => setMention(undefined)}
        onKeyDown={onKeyDown}
        className="field-sizing-content block max-h-52 w-full resize-none bg-transparent px-3.5 pt-3 pb-1 text-prose outline-none placeholder:text-fg-3"
      />
      <div className="flex items-center gap-0.5 px-1.5 pb-1.5 text-fg-3">
        <IconButton label="Mention a role or file" onClick={insertAt} className="text-fg-3">
          <AtSign className="size-4" aria-hidden="true" />
        </IconButton>
        {hint}
        <span className="flex-1" />
        {actions}
        <button
          type="submit"
          aria-label="Send"
          aria-disabled={!text.trim() || sending}
          className="grid size-8 place-items-center rounded-md bg-ink text-on-ink aria-disabled:opacity-40 pointer-coarse:size-11"
        >
          <ArrowUp className="size-4" aria-hidden="true" />
        </button>
      </div>
    </form>
  );
}

function useSending(draft: string, text: string, onSend: Props['onSend']) {
  const [sending, setSending] = useState(false);
  const key = useRef<{ text: string; key: string }>(undefined);
  const latest = useRef(text);
  useEffect(() => {
    latest.current = text;
  }, [text]);
  const send = async () => {
    const said = text.trim();
    if (!said || sending) return;
    if (key.current?.text !== said) key.current = { text: said, key: newKey() };
    setSending(true);
    try {
      await onSend(said, key.current.key);
      key.current = undefined;
      // What was written while it was under way stays.
      if (latest.current.trim() === said) setDraft(draft, '');
    } catch (error) {
      if (!transient(error)) key.current = undefined;
      toastError(error);
    } finally {
      setSending(false);
    }
  };
  return { send, sending };
}
