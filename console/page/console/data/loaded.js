// Data that a page loads once and on request again.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { get } from "./api.js";
import { drafts, keep } from "./drafts.js";
import { onReload } from "./live.js";

/** @param {any} path @param {any} [options] */
// useLoaded loads path, null for nothing; again when path changes and when the live
// connection reopens. none: the value for 404, which then is no error.
export function useLoaded(path, { none, ...options } = {}) {
  const [state, setState] = useState({ value: undefined, error: null, path: null });
  const turn = useRef(0);
  const load = useCallback(async () => {
    if (!path) return;
    const mine = ++turn.current;
    try {
      const value = await get(path, options);
      if (mine === turn.current) setState({ value, error: null, path });
    } catch (error) {
      if (mine !== turn.current) return;
      if (error.status === 404 && none !== undefined) setState({ value: none, error: null, path });
      else setState((before) => ({ value: before.path === path ? before.value : undefined, error, path }));
    }
  }, [path]);
  useEffect(() => {
    load();
    const stop = onReload(load);
    return () => {
      turn.current++;
      stop();
    };
  }, [load]);
  const current = state.path === path ? state : { value: undefined, error: null };
  return { ...current, load, set: (value) => setState({ value, error: null, path }) };
}

// useDraft is an editable copy of loaded data. It follows fresh until it is changed. With a
// key the changed parts are kept in data/drafts.js, except for those named by secret.
export function useDraft(fresh, key, secret = []) {
  const [draft, setDraft] = useState(fresh);
  const [changed, setChanged] = useState(false);
  const parts = useRef(key && drafts.value[key]);
  useEffect(() => {
    if (changed || fresh === undefined) return;
    setDraft({ ...fresh, ...parts.current });
    if (parts.current) setChanged(true);
  }, [fresh, changed]);
  const put = (next) => {
    parts.current = next;
    if (!key) return;
    const kept = Object.entries(next || {}).filter(([name]) => !secret.includes(name));
    keep(key, kept.length ? Object.fromEntries(kept) : undefined);
  };
  const settle = (value) => {
    put(undefined);
    setDraft(value);
    setChanged(false);
  };
  return {
    draft,
    changed,
    change: (part) => {
      put({ ...parts.current, ...part });
      setDraft((before) => ({ ...before, ...part }));
      setChanged(true);
    },
    saved: settle,
    undo: () => settle(fresh),
  };
}

// useKept is a state that is kept as a draft while it differs from what it begins with.
export function useKept(key, begin) {
  const [value, setValue] = useState(() => drafts.value[key] ?? begin);
  const first = useRef(JSON.stringify(begin)),
    ended = useRef(false);
  useEffect(() => {
    if (!ended.current) keep(key, JSON.stringify(value) === first.current ? undefined : value);
  }, [value]);
  return [
    value,
    setValue,
    () => {
      ended.current = true;
      keep(key);
    },
  ];
}
