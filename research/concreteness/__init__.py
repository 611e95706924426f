"""Making an ICC scorer from foundation models, as the ICC paper does (`python app.py icc`), and the
fit of the product's embedded scorer. Every component is a model by hub name or directory."""
