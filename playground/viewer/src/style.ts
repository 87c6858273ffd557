export const style = `
:host { display: block; container-type: inline-size; font: 14px/1.45 system-ui, sans-serif; color: var(--text);
  background: var(--back); color-scheme: light dark; max-width: 1500px; margin: 0 auto }
:host([hidden]), [hidden] { display: none !important }
.bar { padding: 6px 8px; background: var(--back); border-bottom: 1px solid var(--line); display: grid; gap: 6px }
.row { display: flex; flex-wrap: wrap; gap: 6px; align-items: center }
button, select { font: inherit; color: inherit; background: var(--panel); border: 1px solid var(--line); border-radius: 6px;
  min-height: 34px; padding: 2px 10px; cursor: pointer }
button { min-width: 38px; display: inline-flex; align-items: center; justify-content: center }
button:hover, select:hover { border-color: var(--faint) }
button[aria-pressed=true] { border-color: var(--mark); color: var(--mark); font-weight: 600 }
button:disabled { opacity: .45; cursor: default }
:focus-visible { outline: 2px solid var(--mark); outline-offset: 1px }
input[type=range] { flex: 1 1 160px; min-width: 120px; min-height: 34px; accent-color: var(--mark); margin: 0 }
label { display: inline-flex; gap: 6px; align-items: center; color: var(--faint); min-width: 0 }
label select { color: var(--text); min-width: 0; max-width: 100% }
.now { font-variant-numeric: tabular-nums; min-width: 12.5em; margin: 0 }
.runs { display: grid; gap: 4px 18px; padding: 4px 8px }
.panels { display: grid; grid-template-columns: minmax(0, 1fr); gap: 8px }
.panel { display: block; width: 100%; height: auto; background: var(--panel); border: 1px solid var(--line);
  border-radius: 8px; touch-action: pan-y; user-select: none; -webkit-user-select: none; box-sizing: border-box }
.plan { cursor: crosshair }
.matrix [data-row] { cursor: pointer }
.curves { cursor: ew-resize; grid-column: 1 / -1 }
h2 { font-size: 15px; margin: 8px 2px 6px }
.method { padding: 0 12px 6px; color: var(--faint) }
.method svg { display: block; width: 100%; max-width: 900px; height: auto; margin: 6px auto }
.status { padding: 2px 12px; margin: 0; min-height: 1.5em; color: var(--faint) }
.help { padding: 0 12px 10px; color: var(--faint) }
.help kbd { border: 1px solid var(--line); border-radius: 4px; padding: 0 5px; font: inherit; color: var(--text) }
.help ul { columns: 20em; padding-left: 1.2em; margin: 4px 0 }
.error { padding: 12px; color: var(--mark) }
@container (min-width: 620px) { .panels { grid-template-columns: repeat(2, minmax(0, 1fr)) } }
@container (min-width: 1000px) {
  .one .panels { grid-template-columns: repeat(4, minmax(0, 1fr)) }
  .two { grid-template-columns: repeat(2, minmax(0, 1fr)) }
}
`;
