export const Idiomorph: { morph(place: Element, html: string, options: object): void };
