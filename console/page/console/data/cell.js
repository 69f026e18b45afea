// A cell holds a value and tells those who look at it when it changes.
import { useEffect, useReducer, useRef } from "preact/hooks";

export function cell(value) {
  const watchers = new Set();
  return {
    get value() { return value; },
    set(next) {
      if (Object.is(next, value)) return;
      value = next;
      for (const watcher of [...watchers]) watcher(value);
    },
    // watch calls with each new value, and returns what ends that.
    watch(watcher) {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
  };
}

const whole = (value) => value;

// useCell draws the component anew when what it picks of the cell changes.
export function useCell(watched, pick = whole) {
  const [, again] = useReducer((n) => n + 1, 0);
  const picked = pick(watched.value);
  const last = useRef(picked);
  last.current = picked;
  const picking = useRef(pick);
  picking.current = pick;
  useEffect(() => {
    const look = () => {
      if (!Object.is(picking.current(watched.value), last.current)) again();
    };
    look(); // it may have changed since it was drawn
    return watched.watch(look);
  }, [watched]);
  return picked;
}
