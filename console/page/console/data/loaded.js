// Data that a page loads once and on request again.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { get } from "./api.js";
import { onReload } from "./live.js";

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
    return () => { turn.current++; stop(); };
  }, [load]);
  const current = state.path === path ? state : { value: undefined, error: null };
  return { ...current, load, set: (value) => setState({ value, error: null, path }) };
}

// useDraft is an editable copy of loaded data. It follows fresh until it is changed.
export function useDraft(fresh) {
  const [draft, setDraft] = useState(fresh);
  const [changed, setChanged] = useState(false);
  useEffect(() => { if (!changed && fresh !== undefined) setDraft(fresh); }, [fresh, changed]);
  return {
    draft, changed,
    change: (part) => { setDraft((before) => ({ ...before, ...part })); setChanged(true); },
    saved: (value) => { setDraft(value); setChanged(false); },
    undo: () => { setDraft(fresh); setChanged(false); },
  };
}
