// What Gradio gives to a component's own script, and what is imported before it.
declare const trigger: (event: string, detail?: any) => void;
declare const watch: (name: string, changed: () => void) => void;
declare const props: { value?: string };
declare const outline: Promise<typeof import("../../../backend/features/regions/outline.js")>;
