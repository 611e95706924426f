// What Gradio passes to a component's script.
declare const element: any;
declare function trigger(event: string, data?: object): void;
declare function watch(property: string, act: () => void): void;
